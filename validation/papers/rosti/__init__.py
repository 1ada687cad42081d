"""Figures 6 and 7 of Rosti and others, and sweeps beside them."""
