"""Report on a contract: the promises that a class keeps, and the first case of each it breaks."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phasefit.records import Record

if TYPE_CHECKING:
    import pandas as pd


def same_answer(one: Any, other: Any) -> bool:
    """Return whether two answers of a class are equal: nothing twice, or the same numbers.

    Parameters
    ----------
    one, other : object
        Whatever the class gives.
    """
    if one is None or other is None:
        return one is other
    try:
        return bool(np.array_equal(one, other))
    except Exception:  # whatever comparing such answers does
        return False


class KeptPromises(Record, abc.ABC):
    """A report on the contract of a class; what is checked is up to those who derive from it."""

    #: What each promise means.
    promises: ClassVar[Mapping[str, str]]
    failures: dict[str, str]  #: promise broken and the first case in which it was

    @property
    @abc.abstractmethod
    def heading(self) -> str:
        """Subject of the check, on one line."""

    @property
    def passed(self) -> bool:
        """True if every promise was kept."""
        return not self.failures

    def table(self) -> str:
        """Return one line for each promise, and one for the first case that broke it."""
        lines = [self.heading]
        for promise, meaning in self.promises.items():
            broken = self.failures.get(promise)
            lines.append(f"  {'BROKEN' if broken else 'kept  '}  {meaning}")
            if broken:
                lines.append(f"          {broken}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each promise.

        Returns
        -------
        pandas.DataFrame
            Columns promise, meaning, kept, case: the first case that broke it, or nothing.
        """
        import pandas as pd

        rows = [
            (key, meaning, key not in self.failures, self.failures.get(key, ""))
            for key, meaning in self.promises.items()
        ]
        return pd.DataFrame(rows, columns=["promise", "meaning", "kept", "case"])
