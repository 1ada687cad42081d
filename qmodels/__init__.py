"""Scaling of parallel programs, and response times of parallel machines under a policy."""

import sys

import lazy_loader

if sys.platform == "win32":  # files are locked, and memory is asked for, as POSIX does
    raise ImportError("qmodels needs Linux, macOS or WSL; on Windows install it in WSL")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
