"""Compiled heaps, for the loops of other rooms: which of those that wait or run comes next."""

from qmodels._kernels import put, replace_first, take

__all__ = ["put", "replace_first", "take"]
