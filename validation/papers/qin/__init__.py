"""Experiments of Qin, Jiang, Zhu and Swanson: balancing the disks of a cluster."""

from validation.papers.qin.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
