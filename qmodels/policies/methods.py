"""What is said of how an answer was found: one of three words, and which of them are exact."""

from __future__ import annotations

from typing import Final

#: Without any approximation of the model that is stated, for laws that were given.
EXACT: Final = "exact"
#: The same for laws that were fitted to data, and are not these; `Prediction.fit_error` says by how
#: much.
EXACT_FOR_FITTED: Final = "exact for the fitted laws"
#: The same for jobs drawn from a log by a description of it, in place of laws.
EXACT_FOR_DRAWN: Final = "exact for jobs drawn from the log"
#: By a model that simplifies.
APPROXIMATE: Final = "approximate"
#: What is said in place of an error that is not known.
NOT_STATED: Final = "unknown"


def method_of(*, exact: bool, fitted: bool, drawn: bool = False) -> str:
    """How an answer was found, by whether its model simplifies and its laws are fitted ones.

    `drawn` says that jobs drawn from the data take the place of the laws.

    Examples
    --------
    >>> method_of(exact=True, fitted=True)
    'exact for the fitted laws'
    """
    if not exact:
        return APPROXIMATE
    if drawn:
        return EXACT_FOR_DRAWN
    return EXACT_FOR_FITTED if fitted else EXACT


def exact_for_its_laws(method: str) -> bool:
    """Whether nothing was approximated, be the laws given or fitted.

    Examples
    --------
    >>> [exact_for_its_laws(each) for each in (EXACT, EXACT_FOR_FITTED, APPROXIMATE, "")]
    [True, True, False, False]
    """
    return method in (EXACT, EXACT_FOR_FITTED, EXACT_FOR_DRAWN)


def error_in_short(method: str, error: float) -> str:
    """What a column for errors holds: a word where nothing was approximated, else the error.

    Parameters
    ----------
    method : str
        How the answer was found.
    error : float
        The relative error that is stated of its model; infinite for none.

    Examples
    --------
    >>> error_in_short(EXACT, 0.0), error_in_short(EXACT_FOR_FITTED, 0.0)
    ('exact', 'fitted')
    >>> error_in_short(APPROXIMATE, 0.05), error_in_short(APPROXIMATE, float("inf"))
    ('5%', 'unknown')
    """
    if exact_for_its_laws(method):
        return "exact" if method == EXACT else "fitted"
    if not method:  # nothing was predicted
        return ""
    return NOT_STATED if error == float("inf") else f"{error:.0%}"
