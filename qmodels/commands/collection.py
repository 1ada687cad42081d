"""How often this process looks for garbage in cycles."""

from __future__ import annotations

import atexit
import gc
from typing import Final

#: Objects that may be made before the next look; Python's own number is 700 or 2,000.
_BETWEEN: Final = 100_000


def collect_seldom() -> None:
    """Look for garbage in cycles seldom, in a process that is ours: a command, or a worker.

    Importing this project's packages makes some million objects, none of which is garbage; to look
    through them again and again took a sixth of that time, and of laying out a sweep's points more.
    What no longer is pointed at goes at once all the same.

    Examples
    --------
    >>> collect_seldom()
    >>> import gc
    >>> gc.isenabled(), gc.get_threshold()[0] >= 100_000
    (True, True)
    """
    gc.set_threshold(_BETWEEN, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
