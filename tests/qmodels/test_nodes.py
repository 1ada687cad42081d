"""Runs counted in cores, nodes or ranks are the same runs; beyond one node laws have their own terms."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io import RunTable, read_runs
from qmodels.programs import compare_runs, fit_runs
from tests.command import called as run

#: A code on 1 to 4 nodes of 128 cores. On 16 nodes it took 144 s.
SECONDS = (1660.0, 946.0, 611.5, 474.1)
MEASURED = 144.0


def learnt(p, seconds=SECONDS, *, kind="cpu", cores_per_node=None, **columns):
    frame = pd.DataFrame({"p": p, "seconds": seconds}).assign(
        **{"program": "code", "phase": 1, "kind": kind, "d": 1} | columns
    )
    (fitted,) = fit_runs(RunTable(frame), cores_per_node=cores_per_node).values()
    return fitted


def nodes_of(factor):
    return [factor * k for k in (1, 2, 3, 4)]


class TestUnitsOfProcessors:
    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("kind", ["cpu", "io"])
    @pytest.mark.parametrize(
        ("factor", "nodes"), [(36, None), (128, [1, 1, 2, 2]), (128, [1, 2, 3, 4]), (3, [2, 4, 6, 8])]
    )
    def test_do_not_change_a_forecast(self, kind, factor, nodes):
        said = []
        for unit in (2, 2 * factor):
            columns = {"nodes": nodes} if nodes else {}
            found = learnt(nodes_of(unit), kind=kind, **columns).predict(16 * unit, 1)
            said.append([found.time.data[0], found.time_low[0], found.time_high[0]])
        assert said[1] == pytest.approx(said[0], rel=1e-6)

    def test_a_law_with_a_negative_term_does_not_rule_out_those_that_may_be(self):
        """Three terms, one negative, fit these four exactly: 1374 s was said of 16 nodes."""
        found = learnt(nodes_of(128)).predict(2048, 1)
        assert MEASURED / 1.25 < found.time.data[0] < MEASURED * 1.25
        assert found.time_low[0] < MEASURED < found.time_high[0]


class TestTheEdgeOfANode:
    def test_is_learnt_where_runs_lie_on_both_sides(self, rng):
        """The network costs 40 % from two nodes on, which runs on one do not show."""
        p = np.array([1, 2, 4, 8, 16, 32, 64])
        seconds = (2 + 300 / p) * np.where(p > 8, 1.4, 1.0) * np.exp(0.02 * rng.standard_normal(p.size))
        truth = 1.4 * (2 + 300 / 256)
        known = learnt(p, seconds, nodes=np.maximum(p // 8, 1)).predict(256, 1)
        same = learnt(p, seconds, cores_per_node=8).predict(256, 1)
        assert same.time.data[0] == known.time.data[0]
        assert known.time.data[0] == pytest.approx(truth, rel=0.25)
        assert known.time_low[0] < truth < known.time_high[0]

    @pytest.mark.parametrize("most", [8, 16])
    def test_ends_what_bends_within_one(self, most):
        """Eight cores share a node's memory: a run of a and b/p, of which a is halved by a second node."""
        p = np.array([k for k in (1, 2, 3, 4, 6, 8, 16) if k <= most])
        seconds = np.where(p > 8, 1.1, 1.0) * (40.0 / p + 2.0 * np.minimum(1.0, 8.0 / p))
        truth = 1.1 * (40.0 / 64 + 2.0 * 8.0 / 64)
        found = learnt(p, seconds, nodes=np.maximum(p // 8, 1)).predict(64, 1)
        assert found.time.data[0] == pytest.approx(truth, rel=0.25)
        assert found.time_low[0] < truth < found.time_high[0]

    def test_lies_before_all_runs_where_none_was_on_one(self):
        """Whole nodes in all runs, whether one of them or two at least: the same laws and words."""
        fitted = learnt([16, 32, 64], (10.0, 6.0, 4.0), nodes=[2, 4, 8])
        assert fitted.node == 8
        assert not any("p>8" in term.text for term in fitted.components[0].posterior.library.terms)
        assert not any("crossed" in text for text in fitted.predict(512, 1).warnings)

    def test_that_no_run_crossed_is_said_of_targets_beyond_it(self):
        fitted = learnt([1, 2, 4, 8], nodes=[1, 1, 1, 1])
        assert any("no run crossed the edge" in text for text in fitted.predict(64, 1).warnings)
        assert not any("crossed" in text for text in fitted.predict(8, 1).warnings)
        assert not any("crossed" in text for text in learnt([1, 2, 4, 8]).predict(64, 1).warnings)

    def test_a_flat_last_step_is_said_of_targets_beyond_it(self):
        flat, steep = learnt([1, 2, 4, 8], (10.0, 8.0, 7.0, 6.8)), learnt([1, 2, 4, 8], (10.0, 5.2, 2.8, 1.6))
        assert any("slope" in text for text in flat.predict(64, 1).warnings)
        assert not any("slope" in text for text in steep.predict(64, 1).warnings)
        assert not any("slope" in text for text in flat.predict(8, 1).warnings)

    @pytest.mark.thorough
    def test_a_flat_last_step_is_that_on_the_disks_asked_for(self):
        """One disk fills, four do not: what is said of one is nothing against four."""
        p, d = np.repeat([1, 2, 4, 8], 2), np.tile([1, 4], 4)
        fitted = learnt(p, np.where(d == 1, 20 + 8 / p, 80 / p), kind="io", d=d)
        flat = [
            [disks, any("slope" in text for text in fitted.predict(64, disks).warnings)]
            for disks in (1, 4, 16)
        ]
        assert flat == [[1, True], [4, False], [16, False]]


class TestTheColumnOfNodes:
    def test_is_read_from_a_table(self, tmp_path):
        file = tmp_path / "runs.csv"
        lines = [f"code,1,cpu,{p},1,{100 / p},{n}" for p, n in ((8, 1), (16, 2), (32, 4))]
        file.write_text("\n".join(["program,phase,kind,p,d,seconds,nodes", *lines]), encoding="utf-8")
        assert read_runs(file).frame["nodes"].tolist() == [1, 2, 4]
        named = {"p": "p", "seconds": "seconds", "nodes": "nodes"}
        assert read_runs(file, columns=named).frame["nodes"].tolist() == [1, 2, 4]

    @pytest.mark.parametrize("nodes", ["0", "-1", "1.5", "", "two"])
    def test_holds_whole_numbers(self, tmp_path, nodes):
        file = tmp_path / "runs.csv"
        lines = [f"code,1,cpu,{p},1,{100 / p},1" for p in (8, 16)] + [f"code,1,cpu,32,1,3.1,{nodes}"]
        file.write_text("\n".join(["program,phase,kind,p,d,seconds,nodes", *lines]), encoding="utf-8")
        with pytest.raises(TraceFormatError, match=r":4:nodes: must be a whole number"):
            read_runs(file)

    def test_of_more_nodes_than_processors_names_the_line(self, tmp_path):
        file = tmp_path / "runs.csv"
        file.write_text("p,n,s\n1,1,9\n2,4,5\n8,4,2\n", encoding="utf-8")
        with pytest.raises(TraceFormatError, match=r":3:nodes: must be at most the 2 processors"):
            read_runs(file, columns={"p": "p", "nodes": "n", "seconds": "s"})

    @pytest.mark.thorough
    def test_shows_how_large_a_node_is_where_no_run_filled_a_single_one(self):
        """Two nodes had 256 processors: 128 still are on one, and the network is not theirs."""
        assert learnt([32, 64, 256, 512], nodes=[1, 1, 2, 4]).node == 128

    def test_has_no_more_nodes_than_processors(self):
        with pytest.raises(ModelError, match="16 nodes are more than the 8 processors"):
            learnt([2, 4, 8, 16], nodes=[1, 1, 16, 2])

    def test_tells_runs_on_as_many_processors_apart(self):
        """The first on one node and the first on two are two runs, as where they are numbered 1 and 2."""
        p, nodes, seconds = (16, 32, 32, 64, 64), (1, 1, 2, 2, 4), np.array([100.0, 55.0, 51.0, 28.0, 26.0])
        named = [learnt(p, seconds, nodes=nodes, repeat=repeat) for repeat in ([1] * 5, [1, 1, 2, 1, 2])]
        far = [one.predict(256, 1) for one in named]
        assert far[0].time_high[0] == far[1].time_high[0]
        columns = {"program": "code", "phase": 1, "kind": "cpu", "p": p, "d": 1, "nodes": nodes}
        before, after = (RunTable(pd.DataFrame(columns | {"seconds": by * seconds})) for by in (1.0, 1.1))
        (whole,) = compare_runs(before, after).main
        assert whole.ratio == pytest.approx(1.1)

    def test_is_not_there_where_nobody_gave_it(self):
        frame = pd.DataFrame({"p": nodes_of(1), "seconds": SECONDS}).assign(
            program="code", phase=1, kind="cpu", d=1
        )
        assert "nodes" not in RunTable(frame).frame


class TestTheCommand:
    @pytest.fixture
    def table(self, tmp_path):
        file = tmp_path / "runs.csv"
        lines = [f"code,1,cpu,{p},1,{2 + 100 / p}" for p in (1, 2, 4, 8)]
        file.write_text("\n".join(["program,phase,kind,p,d,seconds", *lines]), encoding="utf-8")
        return file

    def test_takes_the_processors_of_a_node(self, table):
        done = run("surface", table, "--target", "64,1", "--cores-per-node", "8", "--json")
        assert done.returncode == 0, done.stderr
        assert "no run crossed the edge" in json.dumps(json.loads(done.stdout))

    @pytest.mark.parametrize("wrong", ["0", "-8", "nan"])
    def test_refuses_nonsense(self, table, wrong):
        done = run("surface", table, "--cores-per-node", wrong)
        assert done.returncode in (2, 3)
        assert "cores" in done.stderr
        assert "Traceback" not in done.stderr

    def test_says_that_it_is_for_measured_runs(self):
        done = run("surface", "QCRD-2", "--cores-per-node", "8")
        assert done.returncode == 3
        assert "no table of measured runs" in done.stderr
