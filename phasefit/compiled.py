"""Options of `numba.njit` for the compiled loops of all packages, each with its reason.

Some are options of numba that its manual does not list; where a later numba has lost one, it is left
out here and nowhere else.
"""

from __future__ import annotations

from typing import Any, Final

from numba.core.options import DefaultOptions


def _known(**options: Any) -> dict[str, Any]:
    """Return the options that this numba has."""
    return {
        name: value for name, value in options.items() if name == "cache" or hasattr(DefaultOptions, name)
    }


#: Kept on disk, free of the interpreter's lock, a division by zero as numpy has it; no loop is handed to
#: another as an argument, so no entry for that is compiled.
COMPILED: Final = _known(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
#: What only other loops call: no entry from Python is compiled, which for many tables is much code.
WITHIN: Final = COMPILED | _known(no_cpython_wrapper=True)
#: What allocates nothing needs no reference counts; to count those of all tables at every call made loops of
#: the mesh some thirteen times slower.
UNCOUNTED: Final = COMPILED | _known(_nrt=False)
#: What allocates although those that call it do not: what is not said is as they have it.
COUNTED: Final = COMPILED | _known(_nrt=True)
#: Uncounted, and called by other loops only.
UNCOUNTED_WITHIN: Final = UNCOUNTED | WITHIN
#: Made a part of whoever calls it: a call that hands over all tables would take longer than what it does.
INLINED: Final = UNCOUNTED | _known(inline="always")
