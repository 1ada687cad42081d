"""Markov chains: stationary vectors and matrix-geometric queues, free of subtractions."""

from qmodels.markov.ctmc import stationary
from qmodels.markov.qbd import QBD, QBDSolution, solve_qbd

__all__ = ["QBD", "QBDSolution", "solve_qbd", "stationary"]
