"""Figures of numbers that are hard to draw: nothing cut or hidden, numbers in one manner."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from qmodels.io import load_scenario
from qmodels.plotting import response_curves
from qmodels.plotting.embedded import page_axes
from qmodels.plotting.maps import policy_map
from qmodels.plotting.sharing import time_against_programs
from qmodels.plotting.style import set_plain_log_ticks
from tests.figure_checks import problems, texts_of
from tests.validation.test_one_number import CHECKED, MACHINE, log_file
from validation.analysis.estimates import Estimate
from validation.analysis.plotting import comparison
from validation.checkpoints.plotting import goodput_against_interval, stall_percentiles
from validation.cluster.plotting import migration_map, slowdown_parts, slowdown_tails, timeline
from validation.jobs import JobStream
from validation.machine import Machine, play
from validation.machine.plotting import gantt
from validation.mesh import Mesh
from validation.mesh.plotting import latency_against_load, link_map, phase_strip
from validation.papers.liu.plotting import tolerance_panels
from validation.papers.qin.plotting import lines as slowdown_lines
from validation.slices.plotting import largest_utilisation, waits_by_slice
from validation.study.headlines import headlines
from validation.study.panels import CAPTIONS, study_figures
from validation.study.plotting import agreement_figure, workload_panel
from validation.study.run import run_study
from validation.trial.plotting import draw_waterfall


def estimate(mean, half):
    return Estimate(mean=mean, half_width=half, confidence=0.95, replications=8)


class TestTheCheck:
    """The check itself finds what is wrong with a figure."""

    def draw(self, **size):
        figure = Figure(figsize=(4, 3), **size)
        return figure, figure.add_subplot()

    def test_of_what_is_cut(self):
        figure, ax = self.draw()
        ax.set_ylabel("a title much longer than the axis that it is to stand beside in the figure")
        assert any("is cut" in text for text in problems(figure))

    @pytest.mark.thorough
    def test_of_what_lies_under_a_legend(self):
        figure, ax = self.draw(layout="constrained")
        ax.plot([0, 1], [1, 1], label="a line")
        ax.set_ylim(0, 1.1)
        ax.legend(loc="upper right")
        assert problems(figure) == ["the legend lies on the line 'a line'"]
        ax.legend(loc="lower right")
        assert problems(figure) == []

    def test_of_two_manners_of_numbers(self):
        figure, ax = self.draw(layout="constrained")
        ax.set_xticks([0, 1], ["100,000", "1e+06"])
        assert any("two manners" in text for text in problems(figure))
        ax.set_xticks([0, 1], ["0", "10000"])
        assert any("without commas" in text for text in problems(figure))

    def test_of_texts_that_lie_on_each_other(self):
        figure, ax = self.draw(layout="constrained")
        ax.set_xticks([0, 0.05, 1], ["one label", "another", "last"])
        assert any("lies on" in text for text in problems(figure))


@pytest.fixture(scope="module", params=[1.0, 4e5], ids=["seconds", "days"])
def study(request, tmp_path_factory):
    """A study whose jobs take seconds, and one whose jobs take days, both with a log."""
    folder = tmp_path_factory.mktemp("figures")
    log = log_file(folder)
    lines = log.read_text().splitlines()
    scale = request.param
    rows = [line.split() for line in lines[1:]]
    for row in rows:
        row[1], row[3] = str(round(scale * float(row[1]))), str(round(scale * float(row[3])))
    log.write_text("\n".join([lines[0], *map(" ".join, rows)]) + "\n")
    file = folder / "scenario.toml"
    text = MACHINE.format(mesh="", log=f"[log]\npath = '{log}'", demand="scale_to_log = true")
    file.write_text(text + CHECKED.replace('"SP(4,1)", ', "") + "replay_log = true\n")
    return run_study(load_scenario(file), workers=1)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in CAPTIONS if name not in ("surface", "trial")])
def test_a_figure_of_a_study_can_be_read(study, name):
    panels = [each for row in study_figures(study)[name] for each in row if each]
    assert panels
    for figure, _ in panels:
        assert problems(figure) == []


@pytest.mark.thorough
def test_the_checks_can_be_read_however_few_and_many_there_are(study):
    from dataclasses import replace

    for count in (1, 2, 40):
        some = replace(study, checks=(study.checks * 40)[:count])
        assert problems(agreement_figure(some)) == []


@pytest.mark.thorough
def test_times_have_the_unit_of_the_findings_in_figures_too(study):
    best = headlines(study)[0][0].found.rows[0].value
    unit = "s" if best < 120 else "days"
    [[(figure, words)]] = study_figures(study)["answer"]
    assert figure.axes[0].get_ylabel() == f"mean response time [{unit}]"
    for row in study_figures(study)["response"]:
        for panel, _ in filter(None, row):
            assert panel.axes[0].get_ylabel() == f"mean response time [{unit}]"
    assert f" {unit}" in words


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1.0, 1e4, 3e9])
def test_a_tail_has_its_numbers_in_one_manner_whatever_they_are(scale):
    from phasefit import match_moments

    sample = np.random.default_rng(3).exponential(scale, 5000)
    figure = workload_panel("work of a job [processor-seconds]", sample, match_moments(1.0, 3.0))
    assert problems(figure) == []


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_response_curves_and_their_legend_lie_apart(scale):
    load = np.linspace(0.05, 0.95, 15)
    curves = {f"TS({k},16;M=2)": (load, scale * k / (1 - load)) for k in (1, 2, 4, 8, 16)}
    assert problems(response_curves(curves | {"DP(16)": (load, scale + load)}).figure) == []


@pytest.mark.thorough
class TestTheMapOfPolicies:
    def found(self, labels, ties=False):
        shape = np.shape(labels)
        return SimpleNamespace(
            loads=np.linspace(0.1, 0.9, shape[1]),
            scvs=2.0 ** np.arange(shape[0]),
            best=np.array(labels),
            ties=[[("x",) if ties else ()] * shape[1]] * shape[0],
            objective=SimpleNamespace(label="95th percentile of the response"),
            constraints=["p95_s < 600"],
            meanings=("SP(p,d) is space sharing: " + 8 * "words ", "DP(d) is " + 8 * "words "),
        )

    def test_says_what_its_labels_say(self):
        ax = policy_map(self.found([["SP(1,1)", "DP(16)", "TS(16,16;M=2)", ""]] * 2))
        assert problems(ax.figure) == []
        said = " ".join(texts_of(ax.figure)).replace("\n", " ")
        assert "SP(p,d) is space sharing: words" in said
        assert "DP(d) is words" in said

    def test_has_dark_letters_on_light_plates_whatever_the_cell_and_its_hatching(self):
        ax = policy_map(self.found([[f"DP({k})" for k in (1, 2, 4, 8, 16, 32)]] * 3, ties=True))
        for text in ax.texts[:-1]:  # the last is what the labels say
            plate = text.get_bbox_patch()
            assert text.get_color() == "black"
            assert plate.get_facecolor()[:3] == (1.0, 1.0, 1.0)
            assert plate.get_alpha() > 0.8
        assert problems(ax.figure) == []
        shades = {patch.get_facecolor() for patch in ax.patches}
        assert len(shades) == 6


class TestComparisonsOfRuns:
    @pytest.mark.thorough
    def test_have_their_legend_below(self):
        names = ["MC", "PLAS", "FF", "a strategy of my own"]
        means = {n: estimate(12_000.0 * (1 + k), 30_000.0) for k, n in enumerate(names)}
        gaps = {n: estimate(12_000.0 * k, 9_000.0) for k, n in enumerate(names)}
        for some in (names, names[:1]):
            ax = comparison(
                {n: means[n] for n in some},
                {n: gaps[n] for n in some},
                best="MC",
                quantity="turnaround [cycles]",
            )
            assert problems(ax.figure) == []
            assert "difference to MC" in texts_of(ax.figure)

    def test_of_one_run_have_no_legend_of_intervals(self):
        once = {name: estimate(9.0 + k, np.nan) for k, name in enumerate(["MC", "PLAS"])}
        ax = comparison(once, once, best="MC", quantity="turnaround [s]")
        assert ax.get_legend() is None
        assert problems(ax.figure) == []

    @pytest.mark.thorough
    @pytest.mark.parametrize("seconds", [10.0, 90_000.0])
    def test_show_who_held_which_nodes_in_the_unit_that_people_use(self, seconds):
        demands = seconds * np.array([1.0, 0.4, 0.5])
        jobs = JobStream(arrivals=[0, 0, 1], sizes=[6, 4, 9], demands=demands)
        run = play(Machine(mesh=Mesh(4, 4), strategy="PLAS", network="none"), jobs)
        ax = gantt(run)
        assert ax.get_xlabel() == ("time [s]" if seconds < 100 else "time [h]")
        assert problems(ax.figure) == []
        on_page = gantt(run, ax=page_axes(), until=180_000.0 * 3.2e7)  # 180,000 years
        assert problems(on_page.figure) == []
        span = ax.get_xlim()[1] * (1.0 if seconds < 100 else 3600.0)
        assert span == pytest.approx(run.finish.max())

    @pytest.mark.thorough
    def test_of_a_mesh(self):
        points = [
            SimpleNamespace(offered=x, messages=9, mean_latency=9 / (1 - x), mean_network_latency=8)
            for x in np.linspace(0.05, 0.95, 9)
        ]
        curves = {f"{k}x{k}, a torus": points for k in (3, 16, 22, 128)}
        assert problems(latency_against_load(curves).figure) == []
        phases = [(f"pattern {k}", 50_000 * k, 50_000 * (k + 1)) for k in range(4)]
        run = SimpleNamespace(phases=phases, start=0, finish=250_000, job="job 3")
        assert problems(phase_strip(run).figure) == []

    def test_of_a_cluster(self):
        parts = ("queueing", "paging", "barrier", "migration", "slower_nodes")
        known = {
            name: {"slowdown": estimate(1 + 5 * k, 4.0)} | {p: estimate(k, 0.1) for p in parts}
            for k, name in enumerate(["IOCM-RE", "NLB", "mine"], start=1)
        }
        assert problems(slowdown_parts(known).figure) == []
        at = np.geomspace(1.0, 1e4, 30)
        tails = dict.fromkeys(known, 1.0 / at)
        assert problems(slowdown_tails(tails, at).figure) == []
        run = SimpleNamespace(
            lines=np.random.default_rng(1).random((40, 8, 3)),
            bin_width=1500.0,
            end=60_000.0,
            trace=SimpleNamespace(arrivals=[0.0, 50_000.0]),
            balancer="NLB",
            slowdown=np.array([2.0]),
        )
        ax = timeline(run)
        assert ax.get_xlabel() == "time [h], dashed: the last arrival"
        assert problems(ax.figure) == []

    def test_of_a_cluster_have_no_slowdown_below_none_and_whole_numbers_of_nodes(self):
        parts = ("queueing", "paging", "barrier", "migration", "slower_nodes")
        known = {"BS": {"slowdown": estimate(133.0, 330.0)} | {p: estimate(26.4, 1.0) for p in parts}}
        ax = slowdown_parts(known)
        (bar,) = ax.containers[-1].lines[2]
        assert min(x for x, _ in bar.get_segments()[0]) == 0.0
        assert ax.get_xlim()[0] >= -25.0
        ax = migration_map(np.eye(16, dtype=np.int64))
        assert all(float(x).is_integer() for axis in (ax.xaxis, ax.yaxis) for x in axis.get_ticklocs())

    def test_of_a_cluster_on_which_no_job_took_longer_than_alone(self):
        at = np.geomspace(1.0, 1e4, 30)
        ax = slowdown_tails({"NLB": np.zeros(30)}, at)
        assert "none: no job took longer than alone" in texts_of(ax.figure)
        assert problems(ax.figure) == []

    @pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 22), (16, 3)])
    def test_of_the_links_of_a_mesh_however_small_and_idle(self, rows, columns):
        mesh = Mesh(rows, columns)
        ax = link_map(mesh, np.zeros(mesh.channels))
        assert problems(ax.figure) == []
        bar = ax.figure.axes[1]
        assert bar.get_ylim() == (0.0, 1.0)
        assert all(float(x).is_integer() for axis in (ax.xaxis, ax.yaxis) for x in axis.get_ticklocs())

    def test_of_slices(self):
        shapes = [(1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 4), (2, 4, 4)]
        runs = [SimpleNamespace(shape=s, wait=estimate(3.0 * k, 2.0)) for k, s in enumerate(shapes, 1)]
        loaded = SimpleNamespace(growing=False, shapes=runs, utilisation=estimate(0.98, 0.05))
        way = SimpleNamespace(loaded=loaded, full=None)
        study = SimpleNamespace(
            disciplines=["FCFS", "first-fit", "EASY-places"],
            strategies=["any-blocks", "TFF", "mine"],
            unit="s",
            load=0.5,
            ways=[way] * 9,
            of=lambda name, discipline: way,
        )
        assert problems(waits_by_slice(study).figure) == []
        assert problems(largest_utilisation(study).figure) == []

    def test_of_ways_to_write_checkpoints(self):
        intervals = np.geomspace(300.0, 90_000.0, 30)
        played = SimpleNamespace(goodput=estimate(0.9, 0.2), percentile=lambda q: 4000.0 * q)
        best = SimpleNamespace(interval=6000.0, daly=6100.0, young=5000.0)
        ways = [
            SimpleNamespace(
                name=name,
                curve=np.full(30, 0.95 - 0.1 * k),
                played=played,
                best=best,
                job=SimpleNamespace(interval=6500.0),
            )
            for k, name in enumerate(["sharing", "turns", "waiting works", "behind the work"])
        ]
        study = SimpleNamespace(ways=ways, intervals=intervals)
        ax = goodput_against_interval(study)
        assert problems(ax.figure) == []
        assert ax.get_ylim()[1] > 0.97  # a point on the highest curve is not cut
        assert problems(stall_percentiles(study).figure) == []

    @pytest.mark.thorough
    @pytest.mark.parametrize("last", [1.02, 3.0, 1e4])
    def test_of_the_way_from_the_model_to_the_mesh(self, last):
        stages = [(f"S{k}\nsome words\nof it", 40.0 + k, 0.5) for k in range(4)]
        stages.append(("S4\nlinks,\nall jobs", 44.0 * last, 0.1))
        lines = [("M3, without links", 41.0), ("M3', a job alone", np.inf), ("X, after", 43.0)]
        ax = draw_waterfall("8x16 SP(4,4) MC", stages, lines, unit="s")
        assert problems(ax.figure) == []


@pytest.mark.parametrize(
    "ends", [(1.9e11, 1.9e12), (2e-8, 2e-7), (2.1e9, 2.3e9), (3e7, 5e7), (900, 1100), (1.1, 1.3)]
)
def test_a_logarithmic_axis_has_at_least_two_numbers_in_view_and_none_on_another(ends):
    figure = Figure(figsize=(4.0, 3.0), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(ends, ends)
    ax.set(xscale="log", yscale="log")
    for axis in "xy":
        set_plain_log_ticks(ax, axis)
        low, high = getattr(ax, f"get_{axis}lim")()
        ticks = getattr(ax, f"get_{axis}ticks")()
        assert 2 <= np.count_nonzero((ticks >= low) & (ticks <= high)) <= 7
    assert problems(figure) == []


@pytest.mark.parametrize(("high", "scale"), [([30.0, 60.0], "linear"), ([30.0, 4e9], "log")])
def test_programs_that_share_a_storage_are_drawn_so_that_the_forecast_is_seen(high, scale):
    forecast = SimpleNamespace(
        numbers=np.array([1, 64]),
        seconds=np.array([25.0, 50.0]),
        low=np.array([20.0, 21.0]),
        high=np.array(high),
        level=0.9,
        learnt=[SimpleNamespace(alone=25.0)],
    )
    ax = time_against_programs(forecast)
    assert ax.get_yscale() == scale
    assert ax.get_ylabel() == "time until they end [s]"
    assert problems(ax.figure) == []


def test_slowdowns_and_times_of_papers_end_at_none_and_have_plain_numbers():
    slow = pd.DataFrame(
        {
            "balancer": ["IOCM-RE", "IOCM-RE", "BS", "BS"],
            "I/O rate": [0.8, 2.0, 0.8, 2.0],
            "slowdown": [1.3, 1.4, 1.0, 1.1],
            "slowdown_half_width": [0.2, 0.1, 0.0, 0.1],
            "above_first_percent": [0.0, 0.0, -13.0, -14.0],
            "above_first_half_width_percent": [0.0, 0.0, 2.0, 1.0],
        }
    )
    figure = slowdown_lines(slow, "I/O rate", "sequential jobs", log=True)
    assert problems(figure) == []
    assert not any("10^" in text for text in texts_of(figure))
    times = pd.DataFrame({"communications": 0, "algorithm": "SBT", "parameter": ["4", "16"]})
    for quantity in ("makespan", "turnaround"):
        times[[f"{quantity}_s", f"{quantity}_half_width_s"]] = [20.0, 60.0]
        times[[f"{quantity}_change_percent", f"{quantity}_change_half_width_percent"]] = [0.0, 90.0]
    above, _, below, _ = tolerance_panels(times).axes
    assert above.get_ylim()[0] > -10.0
    assert below.get_ylim()[0] < -80.0
