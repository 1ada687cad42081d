"""Signals at any moment: an exception at each line or instruction of some files in turn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType

from qmodels.process import Stopped


def interrupted_everywhere(
    work: Callable[[], object], *files: str, instructions: bool = False
) -> Iterator[int]:
    """Run `work` again and again, ended by `Stopped` one line of the files later each time.

    Parameters
    ----------
    work : callable
    *files : str
        Endings of the names of source files; only their lines count.
    instructions : bool
        At each instruction of Python's instead: between them signals are served.

    Yields
    ------
    int
        How far it came, each time that it was ended.
    """
    tracer = _Tracer(files, "opcode" if instructions else "line")
    before = sys.gettrace()
    while True:
        tracer.begin()
        sys.settrace(tracer)
        try:
            work()
        except Stopped:
            sys.settrace(before)
            yield tracer.far
        else:
            return
        finally:
            sys.settrace(before)


class _Tracer:
    """Raises at an event that is one further each time."""

    def __init__(self, files: tuple[str, ...], event: str) -> None:
        self.files, self.event, self.far, self.left = files, event, 0, 0

    def begin(self) -> None:
        self.far += 1
        self.left = self.far

    def __call__(self, frame: FrameType, what: str, _: object) -> _Tracer | None:
        if not frame.f_code.co_filename.endswith(self.files):
            return None
        frame.f_trace_opcodes = self.event == "opcode"
        if what == self.event:
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise Stopped(15)
        return self
