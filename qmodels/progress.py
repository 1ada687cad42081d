"""Progress of long computations: the type of the function to which it is reported."""

from __future__ import annotations

from collections.abc import Callable

#: Called as ``progress(what, done, total)``.
Progress = Callable[[str, int, int], None]
