"""Alternatives on the same jobs: one table of them for every simulator, held to numbers made up."""

from typing import NamedTuple

import numpy as np
import pytest

from qmodels.errors import ModelError
from tests.figure_checks import problems
from validation.analysis.alternatives import Alternatives, Quantity, Replications
from validation.analysis.comparison import compare

TIMES = {"response": (9.0, 10.1, 11.0), "throughput": (3.0, 2.9, 3.1)}
SLOWER = {"response": (10.0, 11.0, 12.0), "throughput": (2.0, 1.9, 2.1)}
QUANTITIES = {"response": Quantity("s"), "throughput": Quantity("jobs/s", smaller_is_better=False)}


class Labelled(NamedTuple):
    """Something that tells alternatives apart and has a label."""

    label: str
    size: int


@pytest.fixture
def found():
    slow, fast = Labelled("two queues", 2), Labelled("one queue", 1)
    return Alternatives.of_values({slow: SLOWER, fast: TIMES}, quantities=QUANTITIES)


def test_which_is_best_goes_by_the_direction_of_the_quantity(found):
    slow, fast = found.runs
    assert found.best() == found.best("throughput") == fast
    assert found.ranked("throughput") == [fast, slow]
    assert found.compare(slow, fast, "throughput").verdict == "worse"
    plain = Alternatives.of_values({slow: SLOWER, fast: TIMES})
    assert plain.best("throughput") == slow  # of what is not described less is better
    assert found.verdict(fast) == "best"
    assert found.verdict(slow) == "worse"


def test_differences_are_those_of_paired_replications(found):
    slow, fast = found.runs
    assert found.compare(slow, fast) == compare(SLOWER["response"], TIMES["response"])
    assert found.ratio(slow, fast).mean == pytest.approx(33.0 / 30.1, rel=1e-12)
    row = found.row(fast, {"response": "_s"})
    assert row == {
        "response_s": pytest.approx(np.mean(TIMES["response"])),
        "response_half_width_s": found.estimate(fast).half_width,
    }
    frame = found.to_frame("throughput").set_index("alternative")
    assert frame.difference.tolist() == pytest.approx([-1.0, 0.0])
    assert frame.verdict.to_dict() == {"two queues": "worse", "one queue": "best"}


def test_only_replications_that_both_have_are_paired():
    found = Alternatives.of_values({"a": {"x": [1.0, 2.0, 3.0]}, "b": {"x": [2.0, 4.0]}})
    assert found.difference("b", "a").mean == pytest.approx(1.5)
    assert found.difference("b", "a").replications == 2
    assert found.estimate("a").replications == 3


def test_the_table_has_the_best_first_and_says_who_cannot_be_told_from_it():
    values = {"c": (20.0, 22.0, 21.0), "b": (10.5, 11.0, 12.0), "a": (10.0, 12.0, 11.0)}
    found = Alternatives.of_values({name: {"x": each} for name, each in values.items()})
    head, *rows, last = found.table().splitlines()
    assert head.split() == ["x", "x", "-", "a"]
    assert [row.split()[0] for row in rows] == ["a", "b", "c"]
    assert rows[2].split()[2:] == ["+10", "±", "0", "worse"]
    assert last == "undecided: a cannot be told from b"
    assert found.leaders() == ("a", "b")


def test_one_replication_crowns_nobody():
    found = Alternatives.of_values({"a": {"x": [10.0]}, "b": {"x": [99.0]}})
    assert found.leaders() == ("a", "b")
    assert set(found.to_frame().verdict) == {"undecided"}
    assert "one run, no interval" in found.table()


def test_a_name_or_a_quantity_that_there_is_none_of_is_refused_with_those_there_are(found):
    fast = found.best()
    with pytest.raises(ModelError, match="no alternative here is called 'none'; there are two queues, one"):
        found.compare("none", fast)
    with pytest.raises(ModelError, match="quantity must be one of response, throughput, got 'respons'"):
        found.best("respons")


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ModelError, match="give at least one alternative to compare"):
        Alternatives.of_values({})
    found = Alternatives.of_values({"a": {"x": [1.0, np.nan]}, "b": {"x": [1.0, 2.0]}})
    with pytest.raises(ModelError, match="x of a is not a finite number in every replication"):
        found.best()


def test_its_figure_can_be_read_and_has_the_unit_of_the_quantity(found):
    ax = found.plot(quantity="throughput")
    assert ax.get_xlabel() == "throughput [jobs/s]"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["two queues", "one queue"]
    assert problems(ax.figure) == []


def test_replications_show_themselves_as_estimates_and_as_rows():
    runs = Replications(values=TIMES)
    assert runs["response"].mean == pytest.approx(np.mean(TIMES["response"]))
    assert runs.to_frame().shape == (3, 3)
    assert set(runs.record()) == set(TIMES)


def test_the_picture_shows_differences_to_the_best(found, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "validation.analysis.plotting.comparison", lambda *parts, **words: drawn.extend(parts)
    )
    found.plot()
    means, gaps = drawn
    assert list(means) == list(gaps) == ["one queue", "two queues"]
    assert [gap.mean for gap in gaps.values()] == pytest.approx([0.0, 2.9 / 3.0])


def test_names_and_verdicts_begin_and_numbers_end_one_below_the_other(found):
    assert found.table("throughput").splitlines() == [
        "            throughput  throughput - one queue",
        "one queue            3",
        "two queues           2  -1 ± 0 worse",
    ]
