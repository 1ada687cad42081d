"""Compiled searches for boxes and runs, for event loops that are compiled themselves.

They take arrays and check nothing, see `validation.allocation._kernels`; whoever has an `Occupancy`
asks a strategy instead.
"""

from validation.allocation._kernels import (
    BEST_FIT,
    aligned_base,
    base_sides,
    box_nodes,
    candidate_plane,
    first_base,
    interval,
    largest_free_box,
    roomiest_base,
    snuggest_base,
    words_for_room,
)

__all__ = [
    "BEST_FIT",
    "aligned_base",
    "base_sides",
    "box_nodes",
    "candidate_plane",
    "first_base",
    "interval",
    "largest_free_box",
    "roomiest_base",
    "snuggest_base",
    "words_for_room",
]
