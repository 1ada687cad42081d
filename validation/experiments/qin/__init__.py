"""Experiments of Qin, Jiang, Zhu and Swanson: balancing the disks of a cluster."""

from validation.experiments.qin.figures import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
