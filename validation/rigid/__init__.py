"""Rigid jobs on space-shared nodes: FCFS and backfilling as sites run them."""

from validation.rigid.model import Drain, NodeGroup, RigidJobs, RigidMachine, Weights
from validation.rigid.simulator import RigidRun, simulate_rigid

__all__ = ["Drain", "NodeGroup", "RigidJobs", "RigidMachine", "RigidRun", "Weights", "simulate_rigid"]
