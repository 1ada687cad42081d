"""A space-shared machine at work: jobs, a queue, a strategy and a network, simulated."""

from validation.machine.history import QUANTITIES, History
from validation.machine.machine import NETWORKS, Machine
from validation.machine.play import play
from validation.machine.runs import (
    MachineRun,
    StrategyComparison,
    compare_machines,
    compare_strategies,
    simulate_machine,
)
from validation.machine.traffic import AbstractJobTraffic, Alternating, MixedTraffic, PatternTraffic

__all__ = [
    "NETWORKS",
    "QUANTITIES",
    "AbstractJobTraffic",
    "Alternating",
    "History",
    "Machine",
    "MachineRun",
    "MixedTraffic",
    "PatternTraffic",
    "StrategyComparison",
    "compare_machines",
    "compare_strategies",
    "play",
    "simulate_machine",
]
