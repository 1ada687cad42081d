"""Compiled kernels of the strategies: plain arrays in, plain arrays out.

``free`` (rows, columns) says which places are free, a place is ``row * columns + column``, and
``out`` (size,) receives the places chosen. Callers see to it that enough places are free.
"""

from validation.allocation._kernels.free_boxes import (
    base_sides,
    box_nodes,
    candidate_plane,
    first_base,
    leftmost_base,
    snuggest_base,
)
from validation.allocation._kernels.lines import (
    BEST_FIT,
    FIRST_FIT,
    SUM_OF_SQUARES,
    column_costs,
    columns_around,
    interval,
)
from validation.allocation._kernels.rings import (
    concentric,
    gather,
)
from validation.allocation._kernels.room import (
    aligned_base,
    largest_free_box,
    roomiest_base,
    words_for_room,
)
from validation.allocation._kernels.squares import (
    buddies,
    free_squares,
)
from validation.allocation._kernels.trees import (
    FROM_FIRST,
    FROM_LAST,
    FROM_ROOT,
    in_pieces,
    in_rectangle,
    leaves,
)

__all__ = [
    "BEST_FIT",
    "FIRST_FIT",
    "FROM_FIRST",
    "FROM_LAST",
    "FROM_ROOT",
    "SUM_OF_SQUARES",
    "aligned_base",
    "base_sides",
    "box_nodes",
    "buddies",
    "candidate_plane",
    "column_costs",
    "columns_around",
    "concentric",
    "first_base",
    "free_squares",
    "gather",
    "in_pieces",
    "in_rectangle",
    "interval",
    "largest_free_box",
    "leaves",
    "leftmost_base",
    "roomiest_base",
    "snuggest_base",
    "words_for_room",
]
