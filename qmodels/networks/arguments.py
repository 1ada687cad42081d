"""Arguments that the networks have in common, checked once."""

from __future__ import annotations

from typing import Final

from phasefit import PhaseType
from phasefit.checks import instance_of, whole_number
from qmodels.errors import ModelError

#: More jobs or servers than any memory holds.
_MOST: Final = 10**12
#: Relative error up to which the solution of an exact model may be called exact.
_TRUSTED: Final = 1e-6


def count(name: str, value: int) -> int:
    """Return `value` as a number of jobs or servers: whole, at least one and at most 1e12.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : int
        The number to check.

    Raises
    ------
    ModelError
        If it is no such number.
    """
    number = whole_number(name, value, least=1)
    if number > _MOST:
        raise ModelError(f"{name} must be <= {_MOST:g}, got one with {number.bit_length()} bits")
    return number


def trusted(error: float) -> str:
    """Return the word for the solution of an exact model: "exact" or "approximate".

    Parameters
    ----------
    error : float
        Relative error of the solution.
    """
    return "exact" if error <= _TRUSTED else "approximate"


def positive_law(name: str, law: object) -> PhaseType:
    """Return `law` if it is a phase-type law without an atom at zero.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    law : object
        The law to check.

    Raises
    ------
    ModelError
        If it is something else, or has an atom at zero.
    """
    law = instance_of(name, law, PhaseType)
    if law.atom > 0.0:
        raise ModelError(
            f"{name}: {law.atom:.3g} of the law lies at zero, which is no visit; take the law of "
            f"the positive times, and for a disk that is not always visited the computation "
            f"between two visits, random_sum(delay, stop={1.0 - law.atom:.6g})"
        )
    return law
