"""Columns of a record: arrays of one shape, one entry a burst, a phase or a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phasefit.arrays import read_only
from phasefit.records import data_frame
from qmodels.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd


def check_columns(record: Any, names: tuple[str, ...], like: str) -> None:
    """Refuse columns of another shape than one of them has, and make them read-only.

    Parameters
    ----------
    record : object
        What has the columns as attributes; one that is None is not there.
    names : tuple of str
        All columns.
    like : str
        The one whose shape they must have.

    Raises
    ------
    ModelError
        If one has another shape.
    """
    shape = getattr(record, like).shape
    for name in names:
        if (column := getattr(record, name)) is not None:
            if column.shape != shape:
                raise ModelError(f"{name} has shape {column.shape}, {like} {shape}")
            read_only(column)


def frame_of_columns(record: Any, names: tuple[str, ...]) -> pd.DataFrame:
    """Return the columns that are there as a table.

    Parameters
    ----------
    record : object
        What has the columns as attributes; one that is None is not there.
    names : tuple of str
        The columns, in order.
    """
    columns = {name: getattr(record, name) for name in names}
    return data_frame({name: x for name, x in columns.items() if x is not None})
