"""How the kernels of the strategies are compiled."""

from __future__ import annotations

from typing import Any

#: No kernel is handed to another as an argument: an entry for that would be compiled for nothing.
COMPILED: Any = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
#: For what only kernels call: no entry from Python is compiled.
WITHIN: Any = COMPILED | {"no_cpython_wrapper": True}
#: What searches for boxes allocates nothing, so it needs no reference counts.
SEARCH: Any = COMPILED | {"_nrt": False}
SEARCH_WITHIN: Any = WITHIN | {"_nrt": False}
