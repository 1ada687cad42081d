"""How long work says how far it has come."""

from __future__ import annotations

from collections.abc import Callable

#: Called as ``progress(what, done, total)``.
Progress = Callable[[str, int, int], None]
