"""Errors of laws and fits, said so that the reader can mend them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ModelError(ValueError):
    """The numbers given do not describe a valid model."""


class InfeasibleMomentsError(ModelError):
    """No phase-type law of the family asked for has these moments."""


class ConvergenceError(RuntimeError):
    """An iteration ran out of steps; `last` and `residual` tell how far it came.

    Parameters
    ----------
    what : str
        Name of the iteration, as the subject of the message.
    steps : int
        Steps that it took.
    residual : float
        Distance from the solution at the end.
    last : ndarray
        The last iterate.
    """

    def __init__(self, what: str, steps: int, residual: float, last: NDArray[Any]) -> None:
        self.steps, self.residual, self.last = steps, residual, last
        super().__init__(f"{what} did not converge in {steps} steps (residual {residual:.3g})")
