"""Problems of several sizes: T(p, d, work) from strong and weak runs of one program together."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import ModelError
from qmodels.io.extrap import write_extrap
from qmodels.io.runs import RunTable, read_runs
from qmodels.programs import fit_runs
from qmodels.programs.comparison import compare_runs
from qmodels.programs.scaling import sized
from qmodels.programs.scaling.evidence import weigh
from qmodels.programs.scaling.pooling import pooled_cells
from qmodels.programs.scaling.sized import _SPREAD, SizedLibrary, Way, weigh_sizes
from qmodels.programs.scaling.sizes import Size
from qmodels.programs.scaling.terms import library
from tests.command import called


def _truth(p, work):
    """Seconds of a program with a surface to exchange, one in the model."""
    return 2.0 + 5.0 * work / p + 0.5 * (work / p) ** 0.7 + 0.8 * np.log2(p)


def _table(cells, truth=_truth, noise=0.0, **columns):
    rng = np.random.default_rng(34)
    p, work = np.array(cells, dtype=float).T
    seconds = truth(p, work) * np.exp(noise * rng.standard_normal(p.size))
    frame = pd.DataFrame({"p": p, "work": work, "seconds": seconds})
    return RunTable(frame.assign(program="a", phase=1, kind="cpu", d=1, **columns))


STRONG = [(p, work) for work in (100.0, 1000.0) for p in (1, 4, 16, 64)]
WEAK = [(p, 50.0 * p) for p in (1, 4, 16, 64, 128)]


@pytest.mark.parametrize("work", [1000.0, 10_000.0])
def test_strong_and_weak_runs_together_foretell_another_size(work):
    fitted = fit_runs(_table([*STRONG, *WEAK], noise=0.02), work=work)["a"]
    told = fitted.predict([64.0, 256.0], 1.0)
    measured = _truth(told.processors, work)
    assert np.all((told.time_low < measured) & (measured < told.time_high))
    assert told.time.data == pytest.approx(measured, rel=0.15)
    assert fitted.size.exponent[1] <= 1.02
    assert fitted.size.exponent[2] >= 0.98


def test_an_exponent_is_learnt_where_it_is_not_one():
    def truth(p, work):
        return 1.0 + 1e-3 * work**1.5 / p

    fitted = fit_runs(_table(STRONG, truth, noise=0.01), work=4000.0)["a"]
    assert fitted.size.exponent[0] == pytest.approx(1.5, abs=0.03)
    told = fitted.predict(32.0, 1.0)
    assert told.time_low[0] < truth(32.0, 4000.0) < told.time_high[0]


def _fine_exponent(runs, work, ways):
    """Mean and deviation of the exponent over a fine grid of each way to grow, far beyond the nodes."""
    shown, sizes = library("cpu"), np.log(work / work.max())
    logs, exponents = [], []
    for fixed, local in {(way.fixed, way.local) for way in ways}:
        nodes = np.log([way.exponent for way in ways if (way.fixed, way.local) == (fixed, local)])
        grid = nodes.mean() + 2.0 * np.ptp(nodes) * np.linspace(-1.0, 1.0, 21)
        for at in grid:
            factors = np.exp(np.outer(Way(np.exp(at), fixed, local).powers(shown), sizes))
            one = weigh(SizedLibrary(**vars(shown), factors=factors), runs).with_odds()
            level = np.logaddexp.reduce(one.log_weight, axis=None) + np.log(grid[1] - grid[0])
            logs.append(level - 0.5 * (at / _SPREAD) ** 2)
            exponents.append(np.exp(at))
    shares = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    mean = shares @ np.array(exponents)
    return mean, np.sqrt(shares @ (np.array(exponents) - mean) ** 2)


@pytest.mark.thorough
def test_the_exponent_is_that_of_a_fine_integral_to_half_of_its_deviation_mostly_an_eighth(rng):
    p, work = (axis.ravel() for axis in np.meshgrid([1.0, 2.0, 4.0, 8.0, 16.0], [1.0, 2.0, 4.0]))
    off = []
    for noise in (0.02, 0.05, 0.1, 0.2) * 2:
        grown = work ** rng.uniform(0.7, 1.6)
        beside = grown if rng.random() < 0.5 else 1.0
        seconds = (50.0 * grown / p + 2.0 * beside) * np.exp(noise * rng.standard_normal(p.size))
        pooled, cells, _ = pooled_cells(np.stack([p, np.ones(p.size), work]), seconds)
        runs = pooled.by_processors()
        sized = weigh_sizes(library("cpu"), runs, cells[2], 4.0)
        mean, deviation = _fine_exponent(runs, cells[2], sized.ways)
        off.append(abs(sized.exponent()[0] - mean) / deviation)
    assert np.median(off) < 0.125
    assert max(off) < 0.5


@pytest.mark.parametrize(
    ("work", "sizes", "together", "said"),
    [
        (100.0, 2, False, ()),
        (400.0, 3, False, ()),
        (800.0, 3, False, ("1 doubling outside",)),
        (25.0, 3, False, ("2 doublings outside",)),
        (25.0, 2, False, ("2 doublings outside", "only two sizes")),
        (400.0, 2, True, ("only grew with the processors",)),
        (800.0, 2, True, ("1 doubling outside", "only two sizes", "only grew with the processors")),
    ],
)
def test_a_size_is_warned_of_outside_of_the_runs_and_where_these_cannot_tell(work, sizes, together, said):
    warned = Size(work, least=100.0, most=400.0, asked=True, together=together, sizes=sizes).warnings()
    assert len(warned) == len(said)
    assert all(part in text for part, text in zip(said, warned, strict=True))


@pytest.mark.thorough
def test_a_size_beyond_the_runs_is_less_sure_and_says_so():
    table = _table(STRONG, noise=0.02)
    near, far = (fit_runs(table, work=work)["a"].predict(16.0, 1.0) for work in (1000.0, 8000.0))
    assert far.time_high[0] / far.time_low[0] > 1.1 * near.time_high[0] / near.time_low[0]
    assert near.mark[0] == "measured"
    assert far.mark[0] == "interpolated"
    assert any("3 doublings outside of the runs" in text for text in far.warnings)


@pytest.mark.parametrize(("work", "far"), [(2000.0, "1 doubling"), (3000.0, "1.6 doublings")])
def test_a_size_says_how_far_beyond_the_runs_it_lies(work, far):
    (said,) = Size(work, 100.0, 1000.0, True, False, 3).warnings()
    assert said == f"work {work:g} lies {far} outside of the runs, which had 100 to 1000"


def test_weak_runs_alone_say_that_other_sizes_are_assumed():
    fitted = fit_runs(_table(WEAK))["a"]
    assert fitted.size.work == 6400.0
    assert "that of the run on most processors" in fitted.table()
    assert any("only grew with the processors" in text for text in fitted.warnings)


@pytest.mark.parametrize("off", [1e-13, -1e-13])
def test_ways_to_grow_that_are_as_good_come_in_one_order(monkeypatch, off):
    """Of real weak runs two were alike to rounding: in another unit ends of intervals parted by 10 %."""
    levels = {(True, True): 48.2 + off, (True, False): 48.2, (False, True): 48.1, (False, False): 47.0}
    monkeypatch.setattr(sized, "_best_exponent", lambda *asked: (0.0, 0.2, levels[asked[3:]]))
    ways = [way for way, _ in sized._likely_ways(None, None, None)]
    assert [way.local for way in ways] == [True] * 3 + [False] * 3


def test_runs_of_one_size_are_fitted_as_without_a_column():
    one = [cell for cell in STRONG if cell[1] == 1000.0]
    with_work, without = _table(one), RunTable(_table(one).frame.drop(columns="work"))
    first, second = (fit_runs(table)["a"].predict(256.0, 1.0) for table in (with_work, without))
    assert (first.time_low[0], first.time_high[0]) == (second.time_low[0], second.time_high[0])


def test_what_cannot_be_told_of_sizes_is_refused(tmp_path):
    one = _table([cell for cell in STRONG if cell[1] == 1000.0])
    with pytest.raises(ModelError, match="every run of 'a' has work 1000"):
        fit_runs(one, work=2000.0)
    with pytest.raises(ModelError, match="no column work"):
        fit_runs(RunTable(one.frame.drop(columns="work")), work=2000.0)
    with pytest.raises(ModelError, match="work must be"):
        fit_runs(one, work=float("nan"))
    with pytest.raises(ModelError, match="compare tables of one size each"):
        compare_runs(_table(STRONG), _table(STRONG))
    with pytest.raises(ModelError, match="of several sizes"):
        write_extrap(_table(STRONG), tmp_path / "runs.jsonl")


@pytest.mark.thorough
def test_the_command_line_asks_for_a_size(tmp_path):
    path = tmp_path / "runs.csv"
    rows = (f"{p},{work:g},{_truth(p, work):.6g}" for p, work in STRONG)
    path.write_text("\n".join(["np,cells,solve,none", *(f"{row},0" for row in rows)]))
    columns = "p=np,work=cells,seconds=solve"
    done = called("surface", path, "--columns", columns, "--work", "4000", "--target", "64,1")
    assert done.returncode == 0
    assert "For work 4000; runs had 100 to 1000. What is computed grows as work^1.0" in done.stdout
    assert "Make the next run of work 4000 on " in done.stdout
    done = called("surface", path, "--columns", columns, "--work", "4000", "--json")
    assert json.loads(done.stdout)["result"]["fit"]["work"] == 4000.0
    assert (
        read_runs(path, columns={"p": "np", "work": "cells", "seconds": "solve"}).frame["work"].max()
        == 1000.0
    )
    assert "no table of measured runs: --work" in called("surface", "QCRD-2", "--work", "4").stderr


def test_releases_are_compared_phase_by_phase_by_name():
    """Their numbers follow the order of the rows, which differs between the two tables."""

    def release(factor, order):
        rows = [
            (1 + order.index(name), name, p, seconds / p * (1.0 if name == "halo" else factor), n)
            for p in (1, 2, 4)
            for n in (1, 2)
            for name, seconds in (("solve", 60.0 + n), ("halo", 5.0 + n / 9))
        ]
        frame = pd.DataFrame(rows, columns=["phase", "phase_name", "p", "seconds", "repeat"])
        return RunTable(frame.assign(program="a", kind="cpu", d=1))

    found = compare_runs(release(1.0, ["solve", "halo"]), release(1.5, ["halo", "solve"]))
    parts = {change.part: change.ratio for change in found.changes if change.processors is None}
    assert parts["solve"] == pytest.approx(1.5)
    assert parts["halo"] == pytest.approx(1.0)
