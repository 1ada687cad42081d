"""What if the machine, the load or the jobs were others: predictions over a grid, and advice."""

from validation.study.what_if.grid import Axis, Cell, WhatIf, what_if

__all__ = ["Axis", "Cell", "WhatIf", "what_if"]
