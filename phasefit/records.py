"""Forms in which a record shows itself: short text, table in a notebook, frame, JSON, figure.

Results, laws, programs, machines and policies derive from `Record` or, where there is something to
draw, from `Result`. They say what they hold by `record`; everything else follows from that
here, so that no class has a way of its own.
"""

from __future__ import annotations

import datetime
import json
import math
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from phasefit.checks import real_number
from phasefit.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

#: Longest text of `repr`; beyond it numbers are rounded, then fields left out.
MOST_TEXT: Final = 160
#: Rows and columns of a table in a notebook.
MOST_ROWS, MOST_COLUMNS = 12, 12


def kebab(name: str) -> str:
    """Return the name of a class as a schema has it.

    Parameters
    ----------
    name : str
        In CamelCase.

    Examples
    --------
    >>> kebab("PhaseType"), kebab("MAP"), kebab("QBDSolution"), kebab("IOTotals")
    ('phase-type', 'map', 'qbd-solution', 'io-totals')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name.strip("_")).lower()


def data_frame(data: Any, **how: Any) -> pd.DataFrame:
    """Return a frame; pandas, which takes long to load, is loaded with the first.

    Parameters
    ----------
    data : object
        As for `pandas.DataFrame`.
    **how : object
        The same.
    """
    import pandas as pd

    return pd.DataFrame(data, **how)


class Record:
    """A frozen dataclass, or what behaves like one, that shows itself.

    A subclass may give its own `record`, `to_frame` and `schema_version`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Answer(Record):
    ...     mean: float
    ...     name: str = ""
    >>> Answer(0.5, "a<b").to_json()
    '{"schema": "phasefit.answer", "version": 1, "mean": 0.5, "name": "a<b"}'
    >>> "a&lt;b" in Answer(0.5, "a<b")._repr_html_()
    True
    """

    #: What `to_dict` says it is: the package and the name of the class. Two classes never share it.
    schema: ClassVar[str]
    #: Grows when a name in `to_dict` goes away or changes its meaning.
    schema_version: ClassVar[int] = 1

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "schema" not in cls.__dict__:
            cls.schema = f"{cls.__module__.partition('.')[0]}.{kebab(cls.__name__)}"
        if "__repr__" not in cls.__dict__:
            # The decorator `dataclass` would else write one that prints every number of an array.
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def record(self) -> dict[str, Any]:
        """Return the content by name: the fields that are shown, and what a class adds."""
        return self._by_name(*(f.name for f in _shown_fields(self)))

    def _by_name(self, *names: str) -> dict[str, Any]:
        """Return fields and properties by their names, in this order."""
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return every quantity by its name, as plain values that JSON can hold.

        Returns
        -------
        dict
            ``schema`` and ``version`` first, see `schema_version`; then `record`. What is not
            a number is None, what is infinite the text "Infinity" or "-Infinity", an array a list.
        """
        held = {name: plain(value) for name, value in self.record().items()}
        return {"schema": type(self).schema, "version": self.schema_version} | held

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text (RFC 8259: without NaN).

        Parameters
        ----------
        indent : int, optional
            Blanks for each level; by default the text is one line.
        """
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_frame(self) -> pd.DataFrame:
        """Return one row with a column for each quantity that is a number or a text."""
        return data_frame([self._cells()])

    def __repr__(self) -> str:
        held = [(f.name, getattr(self, f.name)) for f in _shown_fields(self)]
        return short_text(type(self).__name__, held)

    def _repr_html_(self) -> str:
        """Return a small table without styles or scripts, which any content policy lets through."""
        if type(self).to_frame is Record.to_frame:
            rows = [(name, brief(value)) for name, value in self.record().items()]
            return html_table(self._heading(), (), rows)
        frame = self.to_frame()
        index = [] if _is_plain_index(frame) else [str(frame.index.name or "")]
        if len(frame) == 1 and not index:
            row = frame.iloc[0]
            return html_table(self._heading(), (), [(str(n), brief(v)) for n, v in row.items()], MOST_TEXT)
        shown = frame.head(MOST_ROWS).iloc[:, :MOST_COLUMNS]
        cells = [
            [*([brief(name)] if index else []), *map(brief, values)]
            for name, values in zip(shown.index, shown.itertuples(index=False), strict=True)
        ]
        left = (len(frame) - len(shown), frame.shape[1] - shown.shape[1])
        return html_table(self._heading(), [*index, *map(str, shown.columns)], cells, len(cells), left)

    def _heading(self) -> str:
        name = getattr(self, "label", "") or getattr(self, "name", "")
        kind = type(self).__name__
        return f"{kind} {name}" if isinstance(name, str) and name else kind

    def _cells(self) -> dict[str, Any]:
        """Those quantities that fit into a cell."""
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.record().items()
            if value is None or isinstance(value, (str, bool, numbers.Number, np.generic))
        }


class Drawing(NamedTuple):
    """Columns of `to_frame` that a figure shows."""

    x: str  #: column across; numbers make lines, names make bars; "" for bars of all of `y`
    y: str | tuple[str, ...]  #: columns upward
    by: str = ""  #: column whose values have a line each
    half_width: str = ""  #: column with what is added and taken away for error bars
    log: str = ""  #: axes with a logarithmic scale: "x", "y" or "xy"
    labels: tuple[str, str] = ("", "")  #: of the axes; by default the names of the columns


class Result(Record):
    """A record with something to draw."""

    drawing: ClassVar[Drawing]

    def plot(self, ax: Any = None) -> Any:
        """Draw it on matplotlib Axes, those given or new ones, and return them; nothing is shown.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            Those drawn on.
        """
        from phasefit.plotting import columns

        return columns(self.drawn(), self.drawing, title=self._heading(), ax=ax)

    def drawn(self) -> pd.DataFrame:
        """Return the table whose columns `plot` draws: `to_frame`, unless a class has another."""
        return self.to_frame()


class Law(Result):
    """A law of times, with `ppf` and `sf`."""

    if TYPE_CHECKING:

        def ppf(self, q: ArrayLike) -> Any: ...  # noqa: D102

    @property
    def median(self) -> float:
        """Time that is as often exceeded as not, seconds."""
        return float(self.ppf(0.5))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the times between which a share of all lie, as many below as above.

        Parameters
        ----------
        confidence : float
            The share, above 0 and below 1.

        Returns
        -------
        tuple of float
            Seconds.

        Raises
        ------
        ModelError
            If the share is out of its range.

        Examples
        --------
        >>> from phasefit import PhaseType
        >>> low, high = PhaseType.exponential(mean=1.0).interval(0.9)
        >>> round(low, 4), round(high, 4)
        (0.0513, 2.9957)
        """
        share = real_number("confidence", confidence, above=0.0)
        if share >= 1.0:
            raise ModelError(f"confidence must be below 1, got {share:g}")
        low, high = self.ppf([0.5 - share / 2.0, 0.5 + share / 2.0])
        return float(low), float(high)

    def plot(self, ax: Any = None) -> Any:
        """Draw P(X > x) down to one in a thousand; see `Result.plot`."""
        from phasefit.plotting import tail

        return tail(self, title=repr(self), ax=ax)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it.

    Parameters
    ----------
    value : object
        Records and other dataclasses become dictionaries, arrays and tuples lists, tables lists of
        rows, functions and classes their names. What has no form of its own is told by its type.

    Returns
    -------
    None, bool, int, float, str, list or dict
        NaN becomes None, what is infinite a text that `float` reads back.

    Examples
    --------
    >>> plain((np.float64(0.5), float("nan"), float("inf"), np.eye(2), {1: "a"}))
    [0.5, None, 'Infinity', [[1.0, 0.0], [0.0, 1.0]], {'1': 'a'}]
    """
    if type(value) is float:  # most that there are
        return _number(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return _number(float(value))
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, np.ma.MaskedArray):
        return plain(value.tolist())  # None where masked
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all()):
            return value.tolist()
        return [plain(each) for each in value] if value.ndim else plain(value.item())
    if isinstance(value, Mapping):
        return {_key(key): plain(each) for key, each in value.items()}
    if hasattr(value, "_asdict"):  # a named tuple
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, AbstractSet):
        return sorted((plain(each) for each in value), key=str)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [plain(each) for each in value]
    return _json_of_other(value)


def _json_of_other(value: Any) -> Any:
    """Return as JSON what is neither a number nor a text nor a collection."""
    if is_dataclass(value) and not isinstance(value, type):
        if type(value).__str__ is not object.__str__:  # it has a text, such as "min(d, p/4)"
            return str(value)
        return {f.name: plain(getattr(value, f.name)) for f in _shown_fields(value)}
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat() if value == value else None  # NaT of pandas
    if isinstance(value, PurePath):
        return str(value)
    if type(value).__module__.partition(".")[0] == "pandas":
        return _rows(value)
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # a law of scipy.stats with its numbers
        return {"law": value.dist.name, "args": plain(value.args), "kwds": plain(value.kwds)}
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _rows(table: Any) -> Any:
    """A table or a column of pandas; an index that says something is a column of its own."""
    if not hasattr(table, "to_dict"):  # a time, or what is no time and no number
        return None if str(table) in ("NaT", "<NA>") else str(table)
    if hasattr(table, "columns"):
        told = table if _is_plain_index(table) else table.reset_index()
        return [plain(row) for row in told.to_dict(orient="records")]
    return plain(table.to_dict())


def _is_plain_index(frame: pd.DataFrame) -> bool:
    return frame.index.name is None and type(frame.index).__name__ == "RangeIndex"


def _number(value: float) -> float | str | None:
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _key(key: Any) -> str:
    """The name of an entry: keys of JSON are texts."""
    if isinstance(key, str):
        return key
    if isinstance(key, tuple):
        return ",".join(map(_key, key))
    label = getattr(key, "label", None)
    if isinstance(label, str):
        return label
    shown = plain(key)
    return shown if isinstance(shown, str) else json.dumps(shown)


def brief(value: Any, most: int = 60) -> str:
    """Return a value on one line, cut where it is long.

    Parameters
    ----------
    value : object
        Anything with a text.
    most : int
        Largest number of characters.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        text = "".join(c if c.isprintable() else " " for c in value[: most + 1])
    elif isinstance(value, bool) or value is None:
        text = str(value)
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, np.ndarray):
        sides = " x ".join(map(str, value.shape))
        small = value.ndim == 1 and value.size <= 4
        text = f"[{', '.join(map(brief, value.tolist()))}]" if small else f"array({sides})"
    elif isinstance(value, Mapping):
        text = f"{{{_first_few(map(_key, value), len(value))}}}"
    elif isinstance(value, (tuple, list)) and not hasattr(value, "_asdict"):
        text = f"({_first_few((brief(each, 30) for each in value), len(value))})"
    elif isinstance(value, (type, Callable)):  # type: ignore[arg-type]
        text = getattr(value, "__qualname__", type(value).__qualname__)
    else:
        text = str(value) if isinstance(value, numbers.Number) else _first_line(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def _first_few(texts: Iterable[str], count: int) -> str:
    """The first few of some texts, and how many there are."""
    first = [text for text, _ in zip(texts, range(4), strict=False)]
    return ", ".join(first) + (f", ... {count:,} in all" if count > len(first) else "")


def _first_line(value: Any) -> str:
    if type(value).__module__.partition(".")[0] == "pandas":
        return f"{type(value).__name__}({' x '.join(map(str, value.shape))})"
    lines = repr(value).splitlines()
    return lines[0] if len(lines) == 1 else f"{type(value).__name__}(...)"


def short_text(kind: str, values: Sequence[tuple[str, Any]]) -> str:
    """Return the `repr` of a record: exact while that is short, then rounded, then shortened.

    Parameters
    ----------
    kind : str
        Name of the class.
    values : sequence of (str, object)
        Names and values of its parts.
    """
    exact = [f"{name}={_exact_text(value)}" for name, value in values]
    if len(whole := f"{kind}({', '.join(exact)})") <= MOST_TEXT:
        return whole
    parts: list[str] = []
    length = len(kind) + len("(, ...)")
    for name, value in values:
        part = f"{name}={_quoted_text(value)}"
        length += len(part) + len(", ")
        if length > MOST_TEXT:
            return f"{kind}({', '.join([*parts, '...'])})"
        parts.append(part)
    return f"{kind}({', '.join(parts)})"


def _exact_text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, tuple) and len(value) <= 4 and not hasattr(value, "_asdict"):
        inside = ", ".join(_exact_text(each) for each in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return _quoted_text(value)


def _quoted_text(value: Any) -> str:
    return repr(brief(value)) if isinstance(value, str) else brief(value)


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return cells as lines of columns, two blanks between them.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells, row by row, as many in each.
    left : collection of int
        Columns that are aligned to the left, the others to the right.

    Examples
    --------
    >>> aligned([("", "mean"), ("FCFS", "7")])
    ['      mean', 'FCFS     7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def html_table(
    heading: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    most: int = MOST_ROWS,
    left: tuple[int, int] = (0, 0),
) -> str:
    """Return a table for a notebook; every text is escaped.

    Parameters
    ----------
    heading : str
        Title above the table.
    header : sequence of str
        Names of the columns; without any the first cell of a row is its name.
    rows : sequence of sequence of str
        Cells, row by row.
    most : int
        Rows that are shown.
    left : (int, int)
        Rows and columns that the caller has left out.
    """
    lines = [f"<table><caption>{escape(brief(heading, 120))}</caption>"]
    if header:
        cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    for row in rows[:most]:
        first, *rest = map(escape, row)
        head = f"<td>{first}</td>" if header else f'<th scope="row">{first}</th>'
        lines.append(f"<tr>{head}{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>")
    lines.append("</tbody></table>")
    more = (max(len(rows) - most, 0) + left[0], left[1])
    left_out = [f"{n:,} more {what}" for n, what in zip(more, ("rows", "columns"), strict=True) if n]
    return "\n".join([*lines, *([f"<p>{' and '.join(left_out)}</p>"] if left_out else [])])


def _shown_fields(value: Any) -> list[Any]:
    """Fields of a dataclass that its text shows."""
    all_fields = fields(value) if is_dataclass(value) else ()
    return [f for f in all_fields if f.repr and not f.name.startswith("_")]
