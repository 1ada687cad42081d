"""One number for one thing: what an answer prints, writes and draws is one value, wherever.

Four scenarios are answered once. Numbers are read back from what a user sees, the terminal's text,
CSV, JSON, the page and the texts and lines of figures, and held against each other to the digits
that are shown.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re

import numpy as np
import pytest

from qmodels.io import load_scenario
from qmodels.plotting.maps import policy_map
from qmodels.policies.choice.policy_map import SCVS, best_policies
from qmodels.policies.choice.ranking import BEST, TIE
from tests.command import called, result_of
from tests.naive.what_if_page import Held
from validation.study.findings import findings
from validation.study.headlines import headlines
from validation.study.panels import study_figures
from validation.study.report import write_report
from validation.study.run import run_study

MACHINE = """
title = "Sixteen nodes"
[machine]
processors = 16
disks = 4
min_processors = 4
{mesh}
{log}
[demand]
{demand}
[[program]]
name = "one"
repeat = 3
io = {{ total = 4.0 }}
cpu = {{ total = 32.0 }}
[[policy]]
kind = "SP"
processor_partitions = [1, 2, 4]
disk_partitions = [1, 2]
[[policy]]
kind = "TS"
processor_partitions = 1
disk_partitions = 1
[[policy]]
kind = "DP"
disk_partitions = 1
[study]
loads = [0.1, 0.4, 0.7]
"""
CHECKED = """
[validation]
policies = ["SP(4,1)", "DP(1)"]
capacity_fractions = [0.5]
replications = 4
jobs = 300
"""
TRIED = """
[trial]
policies = ["SP(4,1)"]
capacity_fraction = 0.5
replications = 4
jobs = 12
packets = 1
"""
UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0, "%": 0.01, "": 1.0}
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"


def same(shown: str, value: float) -> bool:
    """Whether a number as it is shown, perhaps with a unit, is the value rounded to its digits."""
    digits, unit = re.fullmatch(rf"({NUMBER})\s*(ms|s|min|h|days|%|)", shown.strip()).groups()
    plain, _, power = digits.replace(",", "").partition("e")
    after = len(plain.partition(".")[2])
    # trailing zeros are not shown: a number has three digits at least
    whole = plain.lstrip("+-").partition(".")[0].lstrip("0")
    after = max(after, 3 - max(len(whole), 1)) if unit not in ("%", "") else after
    step = 10.0 ** (int(power or 0) - after) * UNITS[unit]
    return abs(float(plain) * 10.0 ** int(power or 0) * UNITS[unit] - value) <= 0.5001 * step


@pytest.mark.parametrize(
    ("shown", "value", "so"),
    [
        ("43.2 s", 43.24, True),
        ("43.2 s", 43.26, False),
        ("40.5 s", 43.2, False),
        ("45 s", 45.04, True),
        ("45 s", 45.3, False),
        ("2.63 min", 157.9, True),
        ("+2.4%", 0.0244, True),
        ("+2.5%", 0.0244, False),
        ("1,064 s", 1064.4, True),
    ],
)
def test_two_numbers_are_one_to_the_digits_shown(shown, value, so):
    assert same(shown, value) is so


def words_of(page: str) -> str:
    """The texts of a page, those that only readers of pictures hear among them."""
    alts = " ".join(re.findall(r'alt="([^"]*)"', page))
    body = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.S)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body) + " " + alts))


def table_of(page: str, caption: str) -> list[list[str]]:
    """The rows of the table under a caption, as text."""
    body = page.split(caption, 1)[1].split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[words_of(cell).strip() for cell in row] for row in cells]


def read(file) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text())))


def figure_of(study, name, place=0):
    """The axes of one panel of a figure of a study."""
    return [each for row in study_figures(study)[name] for each in row if each][place][0].axes[0]


def log_file(folder):
    """A log of 300 jobs in the Standard Workload Format, of demands of scv 2 on 8 processors."""
    rng, file = np.random.default_rng(5), folder / "jobs.swf"
    submit = np.cumsum(rng.exponential(30.0, 300)).round().astype(int)
    run = np.maximum(rng.gamma(0.5, 30.0, 300), 1.0).round().astype(int)
    lines = [
        f"{i + 1} {at} 0 {took} 8 -1 -1 8 -1 -1 1 1 1 1 1 1 -1 -1"
        for i, (at, took) in enumerate(zip(submit, run, strict=True))
    ]
    file.write_text("; Version: 2.2\n" + "\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("one")


@pytest.fixture(scope="module", params=["mesh", "log"])
def written(request, folder):
    """A study, its report's folder, and what a terminal shows of it."""
    text = MACHINE.format(
        mesh='mesh = [4, 4]\nstrategy = "MC"' if request.param == "mesh" else "",
        log=f"[log]\npath = '{log_file(folder)}'" if request.param == "log" else "",
        demand="scv = 2.0" if request.param == "mesh" else "scale_to_log = true",
    )
    file = folder / f"{request.param}.toml"
    file.write_text(text + CHECKED + (TRIED if request.param == "mesh" else ""))
    study = run_study(load_scenario(file), workers=1)
    out = folder / request.param
    write_report(study, out, command="x")
    return study, out, findings(study)


class TestOfAStudy:
    """With a mesh, and from a log."""

    @pytest.mark.thorough
    def test_is_the_least_time_of_a_load(self, written):
        study, out, said = written
        rows = [
            row
            for row in read(out / "predictions.csv")
            if row["status"] == "stable" and not row["simulated_mean_response_s"]
        ]
        page = (out / "report.html").read_text()
        shown = table_of(page, "with the least predicted mean response time at each load")
        points = json.loads(study.to_json())["points"]
        known = [(p["policy"], p["load"], p["mean_response_s"]) for p in points]
        axes = figure_of(study, "answer")
        unit = UNITS[re.search(r"\[(\w+)\]", axes.get_ylabel())[1]]
        lines = {line.get_label(): dict(line.get_xydata().tolist()) for line in axes.lines}
        for load, row in zip(study.loads, shown, strict=True):
            assert same(row[0].removesuffix(" (the log)"), load)
            here = [r for r in rows if r["load"] == f"{load:.10g}"]
            here.sort(key=lambda r: float(r["mean_response_s"]))
            for place, cell in enumerate(row[1:7:2]):
                label = cell.removesuffix("≈").strip()  # a tie
                value = float(here[place]["mean_response_s"])
                assert label == here[place]["policy"]
                assert same(row[2 + 2 * place].partition(" at ")[0], value)
                assert (label, load, pytest.approx(value, rel=1e-9)) in known
                if label in lines:
                    assert unit * lines[label][load] == pytest.approx(value, rel=1e-9)
        for each in headlines(study)[0]:
            [text] = [t for t in said if t.startswith(f"At {each.name} ")]
            best = each.found.rows[0]
            assert same(re.search(rf"At {each.name} \(({NUMBER})\)", text)[1], each.load)
            here = [r for r in rows if r["load"] == f"{each.load:.10g}"]
            mine = next(r for r in here if r["policy"] == best.label)
            value, error = float(mine["mean_response_s"]), float(mine["stated_error"])
            assert same(re.search(rf"time, ({NUMBER} \w+)", text)[1], value)
            if (stated := re.search(r"\(± (\d+%)", text)) is not None:
                assert same(stated[1], error)
            assert best.error == pytest.approx(error, rel=1e-9)

    @pytest.mark.thorough(but=["log"])
    def test_is_the_error_that_a_band_shows(self, written):
        study, out, _ = written
        names = ("mean_response_s", "stated_error")
        stated = {
            (row["policy"], row["load"]): tuple(float(row[name]) for name in names)
            for row in read(out / "predictions.csv")
            if row["status"] == "stable"
        }
        axes = figure_of(study, "answer")
        labels = [line.get_label() for line in axes.lines if "(" in line.get_label()]
        unit = UNITS[re.search(r"\[(\w+)\]", axes.get_ylabel())[1]]
        assert len(axes.collections) == len(labels)
        for label, band in zip(labels, axes.collections, strict=True):
            corners = band.get_paths()[0].vertices
            for load in study.loads:
                value, error = stated.get((label, f"{load:.10g}"), (np.nan, np.nan))
                if np.isfinite(value) and np.isfinite(error):
                    ends = unit * np.unique(corners[np.isclose(corners[:, 0], load), 1])
                    assert ends[[0, -1]] == pytest.approx(
                        [value * (1 - error), value * (1 + error)], rel=1e-6
                    )

    @pytest.mark.thorough
    def test_is_a_simulated_time_with_its_interval(self, written):
        study, out, said = written
        checks = [r for r in read(out / "predictions.csv") if r["simulated_mean_response_s"]]
        page = (out / "report.html").read_text()
        shown = table_of(page, "Mean response time, predicted and simulated")
        axes = figure_of(study, "agreement")
        drawn = [bars.lines[0].get_xdata()[0] for bars in axes.containers]
        assert len(checks) == len(shown) == len(drawn) == len(study.checks)
        gaps = []
        for row, cells, ratio in zip(checks, shown, drawn, strict=True):
            mean, predicted = (float(row[key]) for key in ("simulated_mean_response_s", "mean_response_s"))
            low, _, high = cells[6].partition(" to ")
            assert cells[0] == row["policy"]
            assert same(cells[2], float(row["load"]))
            assert same(cells[3], predicted)
            assert same(cells[5], mean)
            assert same(low, float(row["simulated_low_s"]))
            assert same(high, float(row["simulated_high_s"]))
            assert same(cells[7], predicted / mean - 1)
            assert ratio == pytest.approx(mean / predicted, rel=1e-9)
            gaps.append(predicted / mean - 1)
        text = next(t for t in said if t.startswith("How far to trust it: "))
        judged = [c.agreement.verdict != "undecided" for c in study.checks]
        approximate = [c.agreement.prediction.method == "approximate" for c in study.checks]
        kept = [g for g, a, b in zip(gaps, judged, approximate, strict=True) if a and b]
        worst = max(kept, key=abs)
        if len(kept) > 1:
            assert same(re.search(rf"within ({NUMBER}%)", text)[1], float(np.median(np.abs(kept))))
        assert same(re.search(rf"(?:worst|it) is ({NUMBER}%)", text)[1], abs(worst))
        assert f"% too {'fast' if worst < 0 else 'slow'}" in text
        for each, row in zip(headlines(study)[0], checks[2:], strict=False):
            text = next(t for t in said if t.startswith(f"At {each.name} "))
            mean, high = float(row["simulated_mean_response_s"]), float(row["simulated_high_s"])
            found = re.search(rf"simulated ({NUMBER} \w+) ± ({NUMBER}%)", text)
            assert same(found[1], mean)
            assert same(found[2], high / mean - 1)

    @pytest.mark.thorough
    def test_is_what_a_policy_carries(self, written):
        study, out, said = written
        carried = {r["policy"]: float(r["capacity_per_s"]) for r in read(out / "predictions.csv")}
        text = next(t for t in said if t.startswith("Highest load"))
        found = re.findall(rf"(\w+\([^)]*\)) (?:\([^)]*\) )?({NUMBER})", text)
        assert len(found) >= 3
        for label, load in found:
            assert same(load, carried[label] / study.bound)
        assert json.loads(study.to_json())["capacities"] == pytest.approx(carried, rel=1e-9)
        page = words_of((out / "report.html").read_text())
        rate = re.search(rf"load 1 ({NUMBER}) jobs/s", page)[1]
        assert same(rate, study.bound)

    @pytest.mark.thorough
    def test_is_a_stage_of_the_mesh(self, written):
        study, out, said = written
        if not study.trials:
            page = words_of((out / "report.html").read_text())
            own = re.search(rf"the log's own load ({NUMBER})", page)[1]
            assert same(own, study.log_load)
            marks = [line.get_xdata()[0] for line in figure_of(study, "answer").lines]
            assert study.log_load in marks
            assert json.loads(study.to_json())["log_load"] == study.log_load
            return
        [trial] = study.trials
        rows = {row["stage"]: row for row in read(out / "trial.csv")}
        seconds = {stage: float(row["mean_response_s"]) for stage, row in rows.items()}
        page = (out / "report.html").read_text()
        whole = seconds["S4"]
        for stage, _, time, interval, gap in table_of(page, "on a mesh that places jobs by"):
            value = trial.own if stage == "model" else seconds[stage]
            assert same(time, value)
            assert same(gap, value / whole - 1)
            if interval and stage != "X":
                half = float(rows[stage]["half_width_s"])
                assert same(interval.removeprefix("± "), half / whole)
        axes = figure_of(study, "trial")
        tops = [bar.get_y() + bar.get_height() for bar in axes.patches]
        names = [tick.get_text().partition("\n")[0] for tick in axes.get_xticklabels()]
        assert dict(zip(names, tops, strict=True)) == pytest.approx({name: seconds[name] for name in names})
        for step, before, after in zip(axes.texts, names, names[1:], strict=False):
            assert same(step.get_text(), (seconds[after] - seconds[before]) / whole)
        lines = {
            line.get_label().partition(",")[0]: line.get_ydata()[0]
            for line in axes.lines
            if not line.get_label().startswith("_")
        }
        assert lines == pytest.approx({name: seconds[name] for name in lines})
        [text] = [t for t in said if t.startswith("How far to trust it on a mesh")]
        found = re.search(
            rf"simulated ({NUMBER} \w+) .*predicted ({NUMBER} \w+) \(({NUMBER}%)\) after .*?"
            rf"({NUMBER} \w+) \(({NUMBER}%)\) before",
            text,
        )
        wanted = (whole, seconds["X"], seconds["X"] / whole - 1, trial.own, trial.own / whole - 1)
        assert all(same(shown, value) for shown, value in zip(found.groups(), wanted, strict=True))
        for shown in found.groups():
            assert shown in words_of(page)


@pytest.fixture(scope="module")
def site(folder):
    """The scenario without a mesh or a log."""
    file = folder / "site.toml"
    file.write_text(MACHINE.format(mesh="", log="", demand="scv = 2.0"))
    return file


@pytest.mark.thorough
class TestOfARecommendation:
    """`predict`, `recommend --map`: terminal, JSON, tables and the map's picture."""

    @pytest.fixture(scope="class")
    @staticmethod
    def answers(site, folder):
        out = folder / "recommended"
        words = ("recommend", site, "--listed", "--map", "-o", out)
        return {
            "rows": result_of(called("predict", site, "--json").stdout),
            "predicted": called("predict", site, "--all").stdout,
            "json": result_of(called(*words, "--json").stdout),
            "said": called(*words).stdout,
            "candidates": read(out / "candidates.csv"),
            "map": read(out / "map.csv"),
        }

    def test_is_the_predicted_time_of_a_policy(self, answers):
        count = 0
        for row in answers["rows"]:
            label, load = row["policy"], row["load"]
            pattern = rf"(?m)^{re.escape(label)}\s+{load:.3g}\s+(\S+)"
            shown = re.search(pattern, answers["predicted"])[1]
            mine = [
                r
                for r in answers["candidates"]
                if r["policy"] == label and float(r["load"]) == pytest.approx(load, rel=1e-12)
            ]
            if "mean_response" not in row:
                assert (shown, mine[0]["status"]) == ("saturated", "saturated")
                continue
            assert same(shown, row["mean_response"])
            assert float(mine[0]["mean_response"]) == pytest.approx(row["mean_response"], rel=1e-12)
            count += 1
        assert count > 15

    def test_is_the_best_of_a_load(self, answers):
        lines = answers["said"].split("\n\n")[0].splitlines()
        for found, text in zip(answers["json"]["recommendations"], lines, strict=True):
            rows = [
                r
                for r in answers["rows"]
                if r["load"] == pytest.approx(found["load"]) and "mean_response" in r
            ]
            best = min(rows, key=lambda r: r["mean_response"])
            assert found["best"] == best["policy"]
            assert found["value"] == pytest.approx(best["mean_response"], rel=1e-12)
            said = re.match(rf"(\S+) has the least mean response at load (\S+), ({NUMBER}) s", text)
            assert said[1] == best["policy"]
            assert same(said[2], found["load"])
            assert same(said[3], best["mean_response"])
            parts = re.search(rf"\(on average ({NUMBER}) s of waiting and ({NUMBER}) s", text)
            mean = best["mean_response"]
            assert same(parts[1], best["mean_wait"]) or best["mean_wait"] < 1e-9
            assert same(parts[2], mean - best["mean_wait"])

    def test_is_a_cell_of_the_map(self, answers, site):
        plan = load_scenario(site)
        assert len(answers["map"]) == len(SCVS) * len(plan.loads)
        listed = answers["said"].split("\n\n")[1].splitlines()[2:]
        cells = iter(answers["map"])
        written = json.loads(json.dumps(answers["json"]["map"]))
        policies = [policy.label for policy in plan.policies]
        again = best_policies(plan.system, plan.workload, loads=plan.loads, candidates=policies)
        axes = policy_map(again)
        drawn = {each.get_position(): each.get_text().replace("\n", "") for each in axes.texts}
        hatched = [patch.get_hatch() is not None for patch in axes.patches]
        for i, (scv, line) in enumerate(zip(SCVS, listed, strict=False)):
            shown = line.split()
            assert same(shown[0], scv)
            for j, (load, text) in enumerate(zip(plan.loads, shown[1:], strict=True)):
                cell, record = next(cells), written[i * len(plan.loads) + j]
                assert (cell["best"] or "-") == text.removesuffix("+") == drawn[j, i]
                assert bool(cell["ties"]) == text.endswith("+") == hatched[i * len(plan.loads) + j]
                assert record["best"] == cell["best"]
                assert float(cell["mean_response"]) == pytest.approx(record["mean_response"])
                if scv == 2.0:  # the scenario's own
                    [own] = [
                        r for r in answers["json"]["recommendations"] if r["load"] == pytest.approx(load)
                    ]
                    assert own["best"] == cell["best"]
                    assert own["value"] == pytest.approx(float(cell["mean_response"]), rel=1e-9)
                    assert " ".join(sorted(own["ties"])) == " ".join(sorted(cell["ties"].split()))


@pytest.mark.thorough
class TestOfAWhatIf:
    """`what-if`: terminal, JSON, the table of all points, the page, and `predict`."""

    @pytest.fixture(scope="class")
    @staticmethod
    def answers(site, folder):
        words = ("what-if", site, "--over", "processors=32", "load=.1,.4,.7", "-j", 1)
        table, page = folder / "all.csv", folder / "whatif.html"
        called(*words, "-o", table)
        called(*words, "disks=4", "scv=2", "-o", page)
        return {
            "said": called(*words, "--price", "processors=2").stdout,
            "json": result_of(called(*words, "--json").stdout),
            "table": read(table),
            "page": page.read_text(),
            "rows": result_of(called("predict", site, "--json").stdout),
        }

    def test_is_a_point_of_the_grid(self, answers):
        held, count = Held(answers["page"]), 0
        loads, sizes = held.data["loads"], held.data["axes"][0]["values"]
        assert held.data["left"] == []
        for point, row in zip(answers["json"]["points"], answers["table"], strict=True):
            assert (point["policy"], point["status"]) == (row["policy"], row["status"])
            if point["mean_response"] is None:
                assert row["mean_response"] == ""
                continue
            assert float(row["mean_response"]) == pytest.approx(point["mean_response"], rel=1e-9)
            place = (sizes.index(point["processors"]), 0, 0, held.labels.index(point["policy"]))
            k = loads.index(point["load"])
            assert held.values[(*place, k)] == pytest.approx(point["mean_response"], rel=3e-7)
            stated = np.inf if point["error"] is None else point["error"]
            assert held.error(held.codes[(*place, k)]) == stated
            assert held.capacity[place] == pytest.approx(point["capacity_load"], rel=3e-7)
            if point["processors"] == 16:
                [own] = [
                    r
                    for r in answers["rows"]
                    if r["policy"] == point["policy"] and r["load"] == pytest.approx(point["load"])
                ]
                assert own["mean_response"] == pytest.approx(point["mean_response"], rel=1e-12)
            count += 1
        assert count > 30

    def test_is_the_best_of_a_machine(self, answers):
        best = [point for point in answers["json"]["points"] if point["status"] == BEST]
        tied = {
            (point["processors"], point["load"])
            for point in answers["json"]["points"]
            if point["status"] == TIE
        }
        lines = answers["said"].splitlines()
        for point in best:
            start = rf"\s+{point['processors']}\s+{point['load']:.3g}\s+\S+\s+(\S+)\s+({NUMBER})"
            [line] = [found for text in lines if (found := re.match(start, text))]
            assert line[1] == point["policy"]
            assert same(line[2], point["mean_response"])
        still = table_of(answers["page"], 'id="still-title"')
        today = {point["load"]: point for point in best if point["processors"] == 16}
        for load, label, time, error, ties in still:
            point = today[float(load)]
            assert label == point["policy"]
            assert same(time, point["mean_response"])
            assert error == ("exact" if point["method"] == "exact" else f"{point['error']:.0%}")
            assert (ties != "none") == ((16, point["load"]) in tied)
        for text in (line for line in lines if line.startswith("- At load")):
            load, label, time = (
                re.match(
                    rf"- At load (\S+) today's machine .* answers soonest under (\S+): ({NUMBER} \w+)",
                    text,
                ).groups()
                if "answers soonest" in text
                else (None, None, None)
            )
            if load:
                assert label == today[float(load)]["policy"]
                assert same(time, today[float(load)]["mean_response"])
