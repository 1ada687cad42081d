"""The algorithms of the paper, node by node and rectangle by rectangle, their operations counted.

What `validation.allocation` runs finds the same boxes from bits; these say what the search costs as
the paper does it.
"""

from validation.papers.bani_mohammad._kernels.busy_lists import leftmost_base
from validation.papers.bani_mohammad._kernels.scans import first_base

__all__ = ["first_base", "leftmost_base"]
