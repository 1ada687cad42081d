"""What if the machine, the load or the jobs were others: predictions over a grid, and advice."""

from validation.study.what_if.axes import Axis
from validation.study.what_if.cells import Cell, Curve, Machine
from validation.study.what_if.grid import WhatIf, what_if

__all__ = ["Axis", "Cell", "Curve", "Machine", "WhatIf", "what_if"]
