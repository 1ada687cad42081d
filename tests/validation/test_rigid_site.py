"""What a log says of its site: held against counts by hand, made-up logs and a public one."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.io import JobLog, read_jobs
from tests.command import called
from validation.rigid import RigidJobs, plotting, simulate_rigid
from validation.rigid.changes import SiteChange, days_drawn, site_changes, whole_part
from validation.rigid.months import DAY, MONTH, site_log, waited_beside_idle
from validation.rigid.report import site_findings, site_notes, site_report
from validation.rigid.site import EXPLAINS, forecast, read_site

KTH = Path(__file__).parents[2].parent / "shared" / "data" / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz"


def made_log(months=5, per_day=20, users=7, processors=16, limits=True, backfilled=True, seed=1):
    """Return a log whose waits are those of EASY on its machine, or none."""
    rng = np.random.default_rng([38, 6, seed])
    n = int((months + 0.2) * 28 * per_day)
    submit = np.sort(rng.uniform(0.0, (months + 0.2) * MONTH, n)).round()
    need = np.minimum(2 ** rng.integers(0, 5, n), processors)
    run = np.maximum(rng.exponential(0.85 * processors * DAY / (per_day * need.mean()), n), 1.0).round()
    limit = 2.0 * run if limits else np.full(n, -1.0)
    user = rng.integers(1, users + 1, n) if users else np.full(n, -1)
    jobs = RigidJobs(submit - submit[0], need, run, limit=np.maximum(limit, run))
    wait = simulate_rigid(jobs, processors).wait.round() if backfilled else np.zeros(n)
    columns = {"submit": submit, "wait": wait, "run": run, "processors": need, "user": user}
    header = {"MaxProcs": str(processors)}
    return JobLog("made", columns | {"requested_time": limit}, header)


def test_a_part_of_a_machine_is_whole_processors_whatever_a_product_rounds_to():
    machine = site_log(made_log(months=2, processors=100))
    assert [whole_part(machine, part) for part in (0.29, 0.57, 0.001, 1.0)] == [29, 57, 1, 100]


def test_waiting_beside_idle_processors_is_what_a_walk_through_time_counts():
    rng = np.random.default_rng([38, 7])
    n, processors = 80, 10
    submit, need, run = np.sort(rng.integers(0, 200, n)), rng.integers(1, 6, n), rng.integers(1, 20, n)
    waits = rng.integers(0, 30, n).astype(float)
    counted = np.zeros(n)
    for now in range(int((submit + waits + run).max())):
        busy = need[(submit + waits <= now) & (now < submit + waits + run)].sum()
        counted += (submit <= now) & (now < submit + waits) & (processors - busy >= need)
    assert waited_beside_idle(RigidJobs(submit, need, run), waits, processors) == pytest.approx(counted)


@pytest.mark.thorough
def test_site_that_backfills_on_its_whole_machine_is_explained_by_that():
    reading = read_site(site_log(made_log()), resamples=5)
    assert (reading.fit.part, reading.fit.cap) == (1.0, np.inf)
    assert reading.fit.tested < 0.01
    assert reading.fit.verdict == EXPLAINS
    assert reading.beside_idle < 0.4
    words = " ".join(site_findings(reading))
    assert "the model explains the waits of months" in words
    shares = [each.share for each in reading.saturated]
    assert shares == sorted(shares)
    ratios = {each.name: each for each in reading.changes}
    assert ratios["load -10 %"].ratio < 1.0
    assert ratios["5 % more nodes"].ratio <= 1.0
    known = [each.ratio for each in reading.by_load if not each.note]
    assert known == sorted(known)
    assert known[0] < 1.0 < known[3]
    same = [(each.ratio, each.low, each.high) for each in reading.by_load[2:4]]
    assert same == [(ratios[n].ratio, ratios[n].low, ratios[n].high) for n in ("load -10 %", "load +10 %")]


@pytest.mark.thorough
def test_changes_that_were_asked_for_come_first_and_leave_the_usual_ones_as_they_are():
    log = site_log(made_log(months=2))
    usual = read_site(log, resamples=5).changes
    asked = [
        SiteChange.of("nodes=+5%"),
        SiteChange.of("limits=exact, queue=30min, depth=3"),
        SiteChange.of("cap=none"),
    ]
    reading = read_site(log, what_ifs=asked, resamples=5)
    assert reading.changes[3:] == usual
    same = next(each for each in usual if each.name == "5 % more nodes")
    assert (reading.changes[0].ratio, reading.changes[0].high) == (same.ratio, same.high)
    assert reading.changes[2].ratio == 1.0
    assert "Nodes=+5%: waits x" in " ".join(site_findings(reading))


def test_change_of_what_the_log_does_not_hold_is_said():
    log = site_log(made_log(months=2, users=0, limits=False))
    asked = [SiteChange.of(text) for text in ("cap=.5", "queue=1h", "cap=.5, limits=Exact")]
    reading = read_site(log, what_ifs=asked, resamples=5)
    assert [each.note for each in reading.changes[:3]] == [
        "the log has no users, so nothing is known of this",
        "the log has no limits, so nothing is known of this",
        "the log has no limits and no users, so nothing is known of this",
    ]
    assert "Cap=.5: the log has no users" in " ".join(site_findings(reading))


def test_a_cap_is_not_played_without_users_because_the_log_has_limits():
    """All jobs would be one user's."""
    log = site_log(made_log(months=2, users=0))
    reading = read_site(log, what_ifs=[SiteChange.of("cap=.25, limits=exact")], resamples=5)
    assert reading.changes[0].note == "the log has no users, so nothing is known of this"


def test_smaller_machine_is_one_on_which_all_jobs_still_fit():
    log = site_log(made_log(months=2, per_day=5))
    half = SiteChange.of("nodes=-50%, load=0.4")
    assert np.isfinite(half.waits(log, log.jobs, 1.0, np.inf)).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node=+5%", "is no change of a site; write KEY=VALUE with a key of load, nodes, depth"),
        ("", "is no change of a site"),
        ("load", "is no change of a site"),
        ("load=ten", "load=ten cannot be read; write 1.1 or [+]10%"),
        ("load=-100%", "load must be"),
        ("nodes=95%", "nodes=95% cannot be read; write 1.05 or [+]5%"),
        ("load=nan", "load is nan, not a finite number"),
        ("queue=0", "queue must be > 0, got 0"),
        ("queue=4", "queue: 4 what[?] say 4h or 4min"),
        ("load=1.1, load=1.2", "load stands twice"),
        ("limits=0.5", "limits must be"),
        ("depth=-1", "depth must be"),
        ("cap=0", "cap must be a part of the machine above 0"),
        ("backfilling=first-fit, depth=3", "depth is for EASY and conservative, got backfilling first-fit"),
        ("backfilling=lifo", "FCFS, SSD"),
    ],
)
def test_change_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        SiteChange.of(text)


def test_load_beyond_saturation_gets_a_growth_and_no_ratio():
    log = made_log(months=4, per_day=40, seed=2)
    busier = JobLog(
        "made", {**log.jobs[["submit", "wait", "processors"]], "run": 1.3 * log.jobs["run"]}, log.header
    )
    changes = read_site(site_log(busier), resamples=5).changes
    assert "the queue would grow by" in changes[0].note
    assert np.isnan(changes[0].ratio)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"limits": False}, "nothing is said of limits"),
        ({"users": 0}, "nothing is said of caps per user"),
        ({"processors": 4, "backfilled": False}, "the log holds more than one machine"),
    ],
)
def test_what_a_log_lacks_or_has_too_much_of_is_said(change, note):
    log = made_log(months=2, **change)
    if "processors" in change:
        log = JobLog(
            "made", log.jobs.assign(run=4 * log.jobs["run"]).drop(columns=["size", "work"]), log.header
        )
    reading = read_site(site_log(log), resamples=5)
    assert note in " ".join(site_notes(reading))
    assert "cannot be told" in " ".join(site_findings(reading))


@pytest.mark.thorough
def test_months_are_drawn_where_there_is_one():
    reading = read_site(site_log(made_log(months=2)), resamples=5)
    for recorded, drawn in ((reading.recorded, ["months"]), (np.zeros(0), []), (np.array([np.nan]), [])):
        waits = site_report(replace(reading, recorded=recorded), "made").sections[0]
        assert [each.name for each in waits.parts] == [*drawn, "utilisation"]
        assert not drawn or waits.parts[0].caption == "Mean wait of each month, recorded."
    nothing = site_report(replace(reading, saturated=()), "made")
    assert all(section.parts for section in nothing.sections)


def test_days_drawn_keep_jobs_with_their_time_of_day():
    jobs = RigidJobs(np.arange(50) * 0.3 * DAY, np.ones(50, int), np.arange(1, 51))
    drawn = days_drawn(jobs, np.random.default_rng(1))
    time_of_day = dict(zip(jobs.run, jobs.submit % DAY, strict=True))
    assert (drawn.submit % DAY) == pytest.approx([time_of_day[run] for run in drawn.run], abs=1e-6)


def test_waits_of_a_single_day_have_no_ratio_but_are_told():
    submit = np.arange(300) * 4320.0
    submit[140:160] = submit[140]
    need = np.where(submit == submit[140], 4, 1)
    jobs = RigidJobs(submit, need, np.full(300, 600.0))
    columns = {"submit": submit, "wait": np.zeros(300), "run": jobs.run, "processors": need}
    log = site_log(JobLog("one day", columns, {"MaxProcs": "4"}))
    asked = [SiteChange.of("load=2"), SiteChange.of("nodes=2, load=2")]
    notes = [
        each.note for each in site_changes(log, jobs, None, lambda change: 1.0, asked, resamples=9, seed=0)
    ]
    assert [note.partition("; then ")[0] for note in notes] == [
        "the waits of today, 6.33 min, are of few days, which gives no ratio"
    ] * 2
    light = jobs.of(need == 1)
    (idle,) = site_changes(log, light, None, lambda change: 1.0, asked[:1], resamples=3, seed=0)
    assert idle.note == "hardly anybody waits today; then 0 s"


def test_next_month_is_as_last_month_and_needs_three_changes():
    assert forecast(np.array([10.0, 20.0, np.nan])) is None
    steady = forecast(np.full(6, 300.0))
    assert (steady.mean, steady.factor) == (300.0, 1.0)


def test_jobs_that_cannot_be_used_are_counted_by_their_fault():
    columns = {
        "submit": [0, 1, 2, 3, 4],
        "wait": [0, 0, 0, -1, 0],
        "run": [5, 0, 5, 5, 5],
        "processors": [1, 1, 99, 1, -1],
    }
    log = site_log(JobLog("made", columns), processors=8)
    assert len(log.jobs) == 1
    assert list(log.left_out.values()) == [1, 1, 1, 1]
    with pytest.raises(ModelError, match="no job has a recorded wait"):
        site_log(JobLog("made", columns | {"wait": [-1] * 5}))


def test_command_writes_page_and_json(tmp_path):
    log, folder = tmp_path / "log.swf", tmp_path / "report"
    table = made_log(months=2).jobs
    rows = [
        f"{k} {r.submit:.0f} {r.wait:.0f} {r.run:.0f} {r.processors} -1 -1 -1 -1 -1 1 {r.user} 1 1 1 1 -1 -1"
        for k, r in enumerate(table.itertuples(), 1)
    ]
    log.write_text("; MaxProcs: 16\n" + "\n".join(rows) + "\n")
    asked = ["--what-if", "backfilling=FCFS"]
    done = called("site", str(log), "--resamples", "5", "--json", "-o", str(folder), *asked)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert result["has_limits"] is False
    assert result["what_if"][0]["name"] == "backfilling=FCFS"
    assert {each.name for each in folder.iterdir()} >= {
        "report.html",
        "report.json",
        "months.png",
        "load.png",
    }
    assert "never checked at your site" in (folder / "report.html").read_text()


@pytest.mark.thorough
@pytest.mark.skipif(not KTH.exists(), reason="the public log is not here")
def test_public_log_is_explained_with_nine_tenths_of_its_machine():
    log = site_log(read_jobs(KTH, keep=None))
    reading = read_site(log, resamples=5)
    assert reading.fit.part == 0.9
    assert reading.fit.tested <= 0.35
    assert reading.beside_idle == pytest.approx(0.54, abs=0.01)
    assert simulate_rigid(log.jobs, 100).mean_wait == pytest.approx(1.91 * 3600, rel=0.01)
    assert "at least half" in site_report(reading, "KTH").text().lower()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_months_are_whole_numbers_on_their_axis(count):
    waits = np.full(count, 3600.0)
    ax = plotting.months(SimpleNamespace(recorded=waits, simulated=waits))
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if low <= tick <= high] == list(range(1, count + 1))
