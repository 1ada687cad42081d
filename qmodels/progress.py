"""Progress of long computations: the type of the function to which it is reported."""

from __future__ import annotations

from collections.abc import Callable

#: Called as ``progress(what, done, total)`` whenever a piece of the work named `what` is done. The
#: total may grow where work goes on until a result is precise enough.
Progress = Callable[[str, int, int], None]


def no_progress(what: str, done: int, total: int) -> None:
    """Do nothing: the `Progress` of work that nobody watches.

    Parameters
    ----------
    what : str
        Name of the work.
    done, total : int
        Parts of the work.
    """
