"""Rigid jobs on space-shared nodes: FCFS and backfilling as sites run them."""

from validation.rigid.curve import WaitCurve, wait_curve
from validation.rigid.mixes import SaturatedRun, draw_jobs, open_waits, saturated_rates, simulate_saturated
from validation.rigid.model import Drain, NodeGroup, RigidJobs, RigidMachine, Weights
from validation.rigid.simulator import RigidRun, simulate_rigid

__all__ = [
    "Drain",
    "NodeGroup",
    "RigidJobs",
    "RigidMachine",
    "RigidRun",
    "SaturatedRun",
    "WaitCurve",
    "Weights",
    "draw_jobs",
    "open_waits",
    "saturated_rates",
    "simulate_rigid",
    "simulate_saturated",
    "wait_curve",
]
