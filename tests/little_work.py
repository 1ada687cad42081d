"""How much a call may do, counted: seconds depend on the machine and on what runs beside."""

import sys
from contextlib import contextmanager

#: Frames of files with these names set something up once in a process: what they do is left out.
_ONCE = ("<frozen importlib", "/numba/", "/llvmlite/")


class TooMuchWork(AssertionError):
    """Raised within the call that does more than it may."""


@contextmanager
def little_work(calls=100_000):
    """Fail when the block makes more calls of functions, of Python or of C, than allowed."""
    made, within = 0, 0

    def count(frame, event, _argument):
        nonlocal made, within
        once = any(name in frame.f_code.co_filename for name in _ONCE)
        if once:
            within += (event == "call") - (event == "return")
        elif within == 0 and event in ("call", "c_call"):
            made += 1
            if made > calls:
                sys.setprofile(None)
                raise TooMuchWork(f"more than {calls:,} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)
