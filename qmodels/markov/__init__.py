"""Markov chains: stationary vectors and matrix-geometric queues, free of subtractions."""

from qmodels.markov.absorption import AbsorptionSolution, solve_absorption
from qmodels.markov.block_tridiagonal import BlockTridiagonalSolution, solve_block_tridiagonal
from qmodels.markov.chain import ChainSolution, estimate_bytes, solve_chain
from qmodels.markov.ctmc import stationary
from qmodels.markov.qbd import QBD, solve_qbd
from qmodels.markov.qbd_solution import QBDSolution
from qmodels.markov.transients import TransientSolution, transient

__all__ = [
    "QBD",
    "AbsorptionSolution",
    "BlockTridiagonalSolution",
    "ChainSolution",
    "QBDSolution",
    "TransientSolution",
    "estimate_bytes",
    "solve_absorption",
    "solve_block_tridiagonal",
    "solve_chain",
    "solve_qbd",
    "stationary",
    "transient",
]
