"""Comparison of the models with simulation, at job level and on the mesh."""

from validation.trial.agreement import Agreement, Cause, Measured, crossvalidate, explain
from validation.trial.arrangements import frozen_speeds, with_arrangements
from validation.trial.chain import Chain, approximation_chain
from validation.trial.loss_run import LossRun, loss_run
from validation.trial.machine import play_cell
from validation.trial.replications import Replication, TrialPoint, run_one
from validation.trial.scenario import Cell, JobPlan
from validation.trial.shared_queue import corrected_response, share_factor
from validation.trial.size_shares import SizeShares

__all__ = [
    "Agreement",
    "Cause",
    "Cell",
    "Chain",
    "JobPlan",
    "LossRun",
    "Measured",
    "Replication",
    "SizeShares",
    "TrialPoint",
    "approximation_chain",
    "corrected_response",
    "crossvalidate",
    "explain",
    "frozen_speeds",
    "loss_run",
    "play_cell",
    "run_one",
    "share_factor",
    "with_arrangements",
]
