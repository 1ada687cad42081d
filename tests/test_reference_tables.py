"""Keys of files have the ranges and defaults that the reference pages list."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Annotated, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from qmodels.io._scenario_file import ScenarioFile
from validation.cluster import SyntheticTraces
from validation.cluster.scenario import _KEYS, ClusterFile
from validation.cluster.scenario import JobsTable as ClusterJobs
from validation.machine.scenario import AllocationFile

PAGES = Path(__file__).parents[1] / "docs" / "reference"
FILES = {"scenario": ScenarioFile, "allocation-scenario": AllocationFile, "cluster-scenario": ClusterFile}
#: One or more keys, behind the name of their table unless it is the whole file.
KEYS = re.compile(r"`(?:\[+(\w+)\]+ )?(\w+(?:, \w+)*)`")
FROM = re.compile(r"(?:whole number |\S+ )?(>=?) ([\d,.]+)")
TO = re.compile(r"(between )?([\d,.]+) (?:to|and) ([\d,.]+)")
DEFAULT = re.compile(r'([\d,.]+|"[^"]*"|true|false)(?: \[[A-Z]\]| \(.*|;.*)?')


def table_of(file, name):
    """The class of a table, of which there may be several or none."""
    found = file.model_fields[name].annotation
    while get_args(found):
        found = next(one for one in get_args(found) if one is not type(None))
    return found


def apart(cell, count, mark):
    """What a cell says of each of so many keys: one thing of all, or one of each."""
    found = cell.split(mark)
    return found if len(found) == count else [cell] * count


def rows():
    for page, file in FILES.items():
        for line in (PAGES / f"{page}.md").read_text(encoding="utf-8").splitlines():
            head, *cells = line.strip("| ").split(" | ")
            match = KEYS.fullmatch(head)
            if match and len(cells) == 3 and match[1] != "policy":
                table = table_of(file, match[1]) if match[1] else file
                keys = match[2].split(", ")
                mark = "; " if "; " in cells[0] else ", "
                of_each = apart(cells[0], len(keys), mark), apart(cells[1], len(keys), ", ")
                yield from ((table, *each) for each in zip(keys, *of_each, strict=True))


ROWS = [*rows()]


def ends(text):
    """For each end of a range the number, whether it is within, and which way leads out."""
    if match := FROM.fullmatch(text):
        return [(match[2], match[1] == ">=", -1)]
    if match := TO.fullmatch(text):
        return [(match[2], not match[1], -1), (match[3], not match[1], 1)]
    return []


def accepts(table, key, value):
    field = table.model_fields[key]
    try:
        TypeAdapter(Annotated[field.annotation, field]).validate_python(value)
    except ValidationError:
        return False
    return True


def test_there_are_ranges_and_defaults_to_look_at():
    assert len([row for row in ROWS if ends(row[2])]) > 50
    assert len(DEFAULTS) > 50


@pytest.mark.parametrize(("table", "key", "range_"), [row[:3] for row in ROWS if ends(row[2])])
def test_a_range_ends_where_the_page_says(table, key, range_):
    step = 0.001 if accepts(table, key, 1.001) or accepts(table, key, 0.999) else 1
    for text, within, outward in ends(range_):
        end = type(step)(text.replace(",", ""))
        inside, outside = (end, end + outward * step) if within else (end - outward * step, end)
        assert (accepts(table, key, inside), accepts(table, key, outside)) == (True, False)


@pytest.mark.parametrize(
    ("file", "table", "key", "one", "least", "most"),
    [
        (ScenarioFile, "machine", "mesh", 4, 2, 2),
        (ScenarioFile, "surface", "processors", 4, 1, None),
        (ScenarioFile, "surface", "disks", 4, 1, None),
        (ScenarioFile, "study", "loads", 0.5, 1, None),
        (ScenarioFile, "validation", "policies", "SP(1,1)", 1, None),
        (ScenarioFile, "validation", "capacity_fractions", 0.5, 1, None),
        (ScenarioFile, "validation", "beside", "EQUI", 0, 10),
        (ScenarioFile, "trial", "policies", "SP(1,1)", 1, None),
        (AllocationFile, "study", "strategies", "MC", 1, None),
        (AllocationFile, "study", "times", 1.0, 0, 6),
        (ClusterFile, "study", "balancers", "NLB", 1, None),
    ],
)
def test_a_list_is_as_long_as_it_must_be_and_no_longer_than_it_may(file, table, key, one, least, most):
    lengths = [least - 1, least, *([] if most is None else [most, most + 1])]
    fits = [accepts(table_of(file, table), key, [one] * length) for length in lengths if length >= 0]
    assert fits == [False, True, *([] if most is None else [True, False])][least < 1 :]


def held(table, key):
    """The default; None of what is made of other keys, or where it is used."""
    default = table.model_fields[key].default
    if default is None and table is ClusterJobs:
        of_source = {field.name: field.default for field in fields(SyntheticTraces)}
        return of_source.get(_KEYS["synthetic"].get(key))
    return default


DEFAULTS = [
    (table, key, match[1], held(table, key))
    for table, key, _, text in ROWS
    if (match := DEFAULT.fullmatch(text)) and held(table, key) is not None
]


@pytest.mark.parametrize(("table", "key", "said", "default"), DEFAULTS)
def test_a_default_is_that_of_the_page(table, key, said, default):
    if isinstance(default, bool):
        assert said == str(default).lower()
    elif isinstance(default, str):
        assert said == f'"{default}"'
    else:
        assert float(said.replace(",", "")) == default
