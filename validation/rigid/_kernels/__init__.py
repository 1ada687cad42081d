"""Compiled loops of rigid jobs: what happens when, and the plan of all that wait."""

from validation.rigid._kernels.events import ANY, EASY, IN_ORDER, NOBODY, PLANNED, simulate, tables

__all__ = ["ANY", "EASY", "IN_ORDER", "NOBODY", "PLANNED", "simulate", "tables"]
