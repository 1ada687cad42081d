"""Whole experiments as the performance modeller Extra-P keeps them: JSON, or its text format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from phasefit.checks import suggestion
from qmodels.errors import TraceFormatError
from qmodels.io.extrap import METRIC, number_repeats, parsed_json
from qmodels.io.run_table import MeasuredRun

_WORDS = ("PARAMETER", "POINTS", "METRIC", "REGION", "DATA")
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_POINT = re.compile(r"\(([^()]*)\)|([^\s()]+)")
_MOST_DIGITS = 40

Measurement = tuple[int, dict[str, Any]]


def parse_experiment(file: str, text: str) -> Iterator[tuple[int, MeasuredRun]]:
    """Read the times of an experiment, JSON or text, each with the number of its line.

    Raises
    ------
    TraceFormatError
        If the text is no such experiment, or holds no times; a JSON text is one line here.
    """
    found = _of_json if text.lstrip().startswith("{") else _of_text
    return number_repeats(file, found(file, text))


def is_experiment(text: str) -> bool:
    """Whether a text is an experiment of Extra-P rather than a table or JSON lines."""
    start = text.lstrip()[:4096]
    if start.startswith("{"):
        return '"params"' not in start and ('"parameters"' in start or '"measurements"' in start)
    first = next((line for line in start.split("\n") if not line.startswith("#")), "")
    return first.split(maxsplit=1)[:1] in (["PARAMETER"], ["POINTS"])


def _of_json(file: str, text: str) -> Iterator[Measurement]:
    given = parsed_json(file, text, None)
    names = given.get("parameters") if isinstance(given, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        what = 'must be a list of names, such as ["p", "d"]'
        raise TraceFormatError(file, what, field="parameters")
    paths = given.get("measurements")
    if not isinstance(paths, dict):
        raise TraceFormatError(file, "must be an object of call paths", field="measurements")
    some = False
    for path, metrics in paths.items():
        where = f"measurements.{path[:60]}"
        if not isinstance(metrics, dict):
            raise TraceFormatError(file, "must be an object of metrics", field=where)
        points = metrics.get(METRIC, [])  # of other metrics nothing is learnt
        if not isinstance(points, list):
            raise TraceFormatError(file, "must be a list of points", field=f"{where}.{METRIC}")
        for number, point in enumerate(points):
            field = f"{where}.{METRIC}[{number}]"
            if not isinstance(point, dict) or set(point) != {"point", "values"}:
                raise TraceFormatError(file, 'must have "point" and "values"', field=field)
            at = point["point"]
            if not isinstance(at, list) or len(at) != len(names):
                what = f"must be a list of {len(names)} numbers, one for each parameter"
                raise TraceFormatError(file, what, field=f"{field}.point")
            some = True
            params = dict(zip(names, at, strict=True))
            yield 1, _measurement(params, path, point["values"])
    if not some:
        raise TraceFormatError(file, f"has no measurement of the metric {METRIC!r}")


def _measurement(params: dict[str, Any], path: str, values: Any) -> dict[str, Any]:
    return {"params": params, "callpath": path, "metric": METRIC, "value": values}


def _of_text(file: str, text: str) -> Iterator[Measurement]:
    """Lines that begin with a word in capitals; DATA lines follow the points in their order."""
    names: list[str] = []
    points: list[list[float]] = []
    metric, region, row = METRIC, None, 0
    some = False
    for number, line in enumerate(text.split("\n"), start=1):
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        rest = rest.strip()
        if word == "PARAMETER":
            names += rest.split()
        elif word == "POINTS":
            points += [_numbers(file, number, a or b) for a, b in _POINT.findall(rest)]
        elif word == "METRIC":
            metric, row = rest, 0
        elif word == "REGION":
            region, row = rest, 0
        elif word == "DATA":
            if row >= len(points) or region is None:
                what = f"is line {row + 1} of DATA for {len(points)} points; REGION and POINTS go before it"
                raise TraceFormatError(file, what, line=number, field=word)
            if len(points[row]) != len(names):
                what = f"point {row + 1} has {len(points[row])} numbers for {len(names)} parameters"
                raise TraceFormatError(file, what, line=number, field="POINTS")
            values = _numbers(file, number, rest)
            if metric == METRIC:
                some = True
                yield (
                    number,
                    _measurement(dict(zip(names, points[row], strict=True)), region, values),
                )
            row += 1
        else:
            hint = suggestion(word, _WORDS)
            raise TraceFormatError(file, f"unknown word {word[:40]!r}; {hint}", line=number)
    if not some:
        raise TraceFormatError(file, f"has no DATA of the metric {METRIC!r}")


def _numbers(file: str, line: int, text: str) -> list[float]:
    found = []
    for word in text.replace(",", " ").split():
        if len(word) > _MOST_DIGITS or not _NUMBER.fullmatch(word):
            raise TraceFormatError(file, f"must be decimal numbers, got {word[:40]!r}", line=line)
        found.append(float(word))
    return found
