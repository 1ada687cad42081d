"""Tables of a sweep's results as files: CSV, whose bytes are always the same, and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qmodels.errors import ModelError
from qmodels.whole_files import write_whole

if TYPE_CHECKING:
    import pandas as pd


def to_frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a table; columns stand in the order in which they first appear.

    Parameters
    ----------
    rows : sequence of dict
        Name to value, row by row.
    """
    import pandas as pd

    columns = list(dict.fromkeys(name for row in rows for name in row))
    return pd.DataFrame(rows, columns=columns)


def to_csv(table: pd.DataFrame) -> str:
    """Return the table as CSV: every digit that a number has, so that equal results are equal bytes.

    Parameters
    ----------
    table : pandas.DataFrame
        The table.
    """
    return str(table.to_csv(index=False, lineterminator="\n"))


def check_writer(file: Path) -> None:
    """Refuse before the work what could not be written after it.

    Parameters
    ----------
    file : Path
        To be written.

    Raises
    ------
    ModelError
        If the file is neither .csv nor .parquet, or Parquet is wanted and pyarrow is missing.
    """
    if file.suffix not in (".csv", ".parquet"):
        raise ModelError(f"{file}: name a file that ends in .csv or .parquet")
    if file.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401 - asked for by pandas
        except ImportError:
            raise ModelError(
                f"{file}: Parquet needs pyarrow; install the extra: pip install '.[parquet]', or write .csv"
            ) from None


def write_table(table: pd.DataFrame, file: Path) -> None:
    """Write a table as CSV or Parquet, by the ending of the file's name; whole or not at all.

    Parameters
    ----------
    table : pandas.DataFrame
        The table.
    file : Path
        To be written.

    Raises
    ------
    ModelError
        As `check_writer`, or if it cannot be written.
    """
    check_writer(file)
    if file.suffix == ".csv":
        content = to_csv(table).encode()
    else:
        buffer = BytesIO()
        table.to_parquet(buffer, index=False)
        content = buffer.getvalue()
    write_whole(file, content)
