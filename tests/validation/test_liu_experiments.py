from dataclasses import replace

import numpy as np
import pytest

from tests.outcomes import Outcomes, one_in_the_gate
from validation.allocation import DBT, SBT, DependentDBT
from validation.analysis.estimates import Estimate
from validation.analysis.seeding import stream
from validation.machine import play
from validation.papers import RunOptions, SharedRuns
from validation.papers.base import all_above_zero, all_below_zero
from validation.papers.liu import EXPERIMENTS, choices, claims
from validation.papers.liu.campaign import (
    KEPT,
    Campaign,
    campaign,
    placed_at_once,
)
from validation.papers.liu.setup import (
    COMMUNICATIONS,
    RATIOS,
    RUNS,
    TOLERANCES,
    Choices,
    Variant,
    machine,
    strategy,
    tasks,
    variants,
)
from validation.papers.liu.tolerances import said_of

QUICK = RunOptions(seed=1, quick=True)
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
FIGURES = [name for name in BY_NAME if name.startswith("liu-fig")]
GATE = {"liu-fig3", "liu-fig6"}


@pytest.fixture(scope="module")
def outcomes():
    """Every experiment, quick: cells that they share are run once."""
    return Outcomes(EXPERIMENTS, QUICK)


# The set-up: L-19, L-20, L-21


def test_the_machine_is_that_of_the_paper():
    made = machine(Variant("DBT", "1/4"), 4, Choices())
    assert (made.mesh.rows, made.mesh.columns, made.mesh.io_nodes.size) == (16, 16, 16)
    assert made.mesh.io_side == "west"
    assert made.disk_pace == pytest.approx(11.65 / 4.545, rel=1e-12)
    assert made.label == "DBT, FCFS, worm"
    talk, io = made.traffic.of(made.mesh, 9, 1.0).phases
    assert (talk.pattern, talk.rounds, io.pattern, io.rounds) == ("all-to-all", 4, "write", 1)
    [io] = machine(Variant("MBS", ""), 0, Choices()).traffic.of(made.mesh, 9, 1.0).phases
    assert io.pattern == "write"


def test_messages_of_both_kinds_are_equally_long_and_a_disk_is_as_slow_as_it_was_measured():
    for flits in (5, 64, 256):
        ours = Choices(flits=flits)
        sent = machine(Variant("BT", ""), 1, ours).traffic
        assert sent.flits == sent.io_flits == flits
        link = flits * ours.cycle
        assert link == pytest.approx(64_000 / 11.65e6, rel=1e-12)
        assert link * ours.disk_pace == pytest.approx(64_000 / 4.545e6, rel=1e-12)
        slow = replace(ours, disk_delay=10.0)
        assert link * slow.disk_pace == pytest.approx(64_000 / 4.545e6 + 0.01, rel=1e-12)


@pytest.mark.thorough
def test_sixteen_tasks_come_at_once_with_sizes_of_an_exponential_law_rounded_up():
    drawn = [tasks().draw(rng=stream(5, run)) for run in range(1000)]
    assert all(jobs.jobs == 16 and not jobs.arrivals.any() for jobs in drawn)
    sizes = np.concatenate([jobs.sizes for jobs in drawn])
    assert sizes.min() >= 1
    assert sizes.max() <= 256
    q = np.exp(-1 / 16)
    mean = (1 - q**256) / (1 - q)
    error = np.sqrt(q) / (1 - q) / np.sqrt(sizes.size)
    assert abs(sizes.mean() - mean) < 4 * error


def test_the_parameters_are_those_of_the_paper():
    assert TOLERANCES == (4, 16, 64, 256)
    assert [float(ratio) for ratio in RATIOS] == [1 / 16, 1 / 8, 1 / 4, 1 / 2]
    assert RUNS == 1000
    assert COMMUNICATIONS == (0, 1, 2, 4, 8, 16)
    assert [v.label for v in variants("SBT", "BT")] == [
        "SBT(4)",
        "SBT(16)",
        "SBT(64)",
        "SBT(256)",
        "BT",
    ]
    assert strategy(Variant("SBT", "64"), Choices()) == SBT(64.0)
    assert strategy(Variant("DBT", "1/8"), Choices()) == DBT(0.125)
    apart = strategy(Variant("d-DBT", "1/2"), Choices(anchor="last"))
    assert apart == DependentDBT(anchor="last", ratio=0.5)
    for variant in variants(*choices.ALL):
        assert strategy(variant, Choices()).name == variant.algorithm


@pytest.mark.thorough
def test_the_first_tasks_of_an_exact_strategy_fill_the_mesh_up_to_the_first_that_is_too_large():
    filled = []
    for run in range(50):
        total = np.cumsum(tasks().draw(rng=stream(0, "tasks placed at once", run)).sizes)
        filled.append(total[total <= 256].max(initial=0) / 256)
    for name in ("MBS", "PLAS", "ind-BT"):
        assert placed_at_once(Variant(name, ""), runs=50).tolist() == pytest.approx(filled)
    for name in ("BT", "SBT", "DBT"):
        bounded = placed_at_once(variants(name)[0], runs=50)
        assert (bounded <= np.array(filled) + 1e-12).all()


@pytest.mark.thorough
def test_tasks_of_dbt_fill_as_much_of_the_mesh_at_once_as_the_paper_has_it():
    """L-19, in the middle of the sweep: mean between 55 and 80 % over 1000 runs."""
    finding = claims.placed([Variant("DBT", "1/4")])
    assert finding.holds, finding.detail


@pytest.mark.thorough
def test_no_run_is_faster_than_its_disks():
    """Every I/O node writes one message of every node, one after the other."""
    found = campaign(variants("BT", "PLAS"), QUICK, what="bound")
    for run in range(found.replications):
        # The machine's streams are replication `run` of place 0 below the seed.
        sizes = tasks().draw(rng=stream(QUICK.seed, 0, run)).sizes
        least = sizes.sum() * 64_000 / 4.545e6
        for variant in found.variants:
            for c in found.communications:
                assert found.values((variant, c), "makespan")[run] >= least
                assert found.values((variant, c), "turnaround")[run] >= least / 16 / sizes.size
                share = found.values((variant, c), "utilisation")[run]
                service = found.values((variant, c), "service")[run]
                assert 0 < share <= 1
                assert service <= found.values((variant, c), "turnaround")[run]


def test_a_task_alone_takes_the_time_of_its_messages_on_the_slowest_part():
    """One node in row 0 writes 16 messages; each disk gets one, the node's link all."""
    made = machine(Variant("PLAS", ""), 0, Choices())
    from validation.jobs import JobStream

    run = play(made, JobStream(arrivals=[0.0], sizes=[1]))
    seconds = run.makespan * Choices().cycle
    sending, disk = 16 * 64_000 / 11.65e6, 64_000 / 4.545e6
    assert sending + disk < seconds < 16 * disk + 32 * 16 * Choices().cycle


# Campaigns


@pytest.mark.thorough
def test_a_cell_is_the_same_alone_together_and_after_more_runs():
    options = replace(QUICK, quick=False, workers=1, seed=7)
    some = variants("DBT")[:2]
    kwargs = {"what": "x", "communications": (0, 1)}
    both = campaign(some, options, runs=3, **kwargs)
    fewer = campaign(some[1:], options, runs=2, **kwargs)
    afresh = replace(options, shared=SharedRuns())
    alone = campaign(some[1:], afresh, runs=2, **kwargs)
    for c in (0, 1):
        for quantity in KEPT:
            expected = both.values((some[1], c), quantity)[:2].tolist()
            assert fewer.values((some[1], c), quantity).tolist() == expected
            assert alone.values((some[1], c), quantity).tolist() == expected


def test_cells_of_other_choices_and_seeds_are_not_mistaken_for_each_other():
    options = replace(QUICK, quick=False, workers=1, seed=7)
    some, kwargs = variants("MBS"), {"what": "x", "runs": 1, "communications": (1,)}
    ours = campaign(some, options, **kwargs).mean_of((some[0], 1), "makespan")
    short = campaign(some, options, choices=Choices(flits=5), **kwargs)
    other = campaign(some, replace(options, seed=8), **kwargs)
    assert short.mean_of((some[0], 1), "makespan") != ours
    assert other.mean_of((some[0], 1), "makespan") != ours
    # Of another length in flits, but the same bytes: short worms hold fewer channels.
    assert short.mean_of((some[0], 1), "makespan") == pytest.approx(ours, rel=0.5)


@pytest.mark.thorough
def test_figures_of_one_command_run_each_cell_once_and_leave_nothing_behind(monkeypatch):
    from validation.papers.liu import campaign as room

    cells = []
    real = room.compare_machines

    def counted(machines, *args, **options):
        cells.extend(machines)
        return real(machines, *args, **options)

    monkeypatch.setattr(room, "compare_machines", counted)
    options = replace(QUICK, seed=5, shared=SharedRuns())
    first = campaign(variants("MBS", "BT"), options, what="one figure")
    assert len(cells) == 6
    again = campaign(variants("BT", "PLAS"), options, what="another")
    assert len(cells) == 9
    assert not {c for c in cells[6:] if c.startswith("BT")}
    bt = Variant("BT", "")
    assert again.values((bt, 4), "makespan") is not None
    assert again.values((bt, 4), "makespan").tolist() == first.values((bt, 4), "makespan").tolist()
    # Another command, with options of its own, begins from nothing.
    campaign(variants("BT"), replace(QUICK, seed=5, shared=SharedRuns()), what="another command")
    assert len(cells) == 12


def test_changes_of_a_table_are_relative_to_the_mean_of_the_second():
    """Known: the ratio of 14 to 15, and by hand the delta method's +-1/3 on residuals."""
    made = [Variant("SBT", "4"), Variant("SBT", "16")]
    times = {"4": np.array([10.0, 20.0]), "16": np.array([9.0, 19.0])}
    cells = {(v, 0): dict.fromkeys(KEPT, times[v.parameter]) for v in made}
    table = Campaign.of_values(cells).cells()
    assert table.makespan_change_percent.tolist() == pytest.approx([0.0, -100 / 15])
    # Residuals 9 - 10 * 14/15 = -1/3 and 19 - 20 * 14/15 = 1/3; Student's 12.706 for two runs.
    error = np.sqrt(2 / 9) / np.sqrt(2) / 15
    assert table.makespan_change_half_width_percent[1] == pytest.approx(100 * 12.706204736 * error, rel=1e-9)
    assert table.makespan_change_verdict.tolist() == ["undecided", "undecided"]


# Findings, on campaigns made up so that what they must say is known


def planted(times, algorithms=choices.ALL, communications=(0, 4, 16)):
    """A campaign whose times are ``times(variant, c)`` with a small noise of their own."""
    rng = np.random.default_rng(3)
    common = rng.normal(0.0, 2.0, 20)
    cells = {
        (v, c): {name: times(v, c) + common + rng.normal(0.0, 0.01, 20) for name in KEPT}
        for v in variants(*algorithms)
        for c in communications
    }
    return Campaign.of_values(cells)


def as_the_paper_says(variant, c):
    """Times that bear out every sentence of the paper."""
    step = [v.parameter for v in variants(variant.algorithm)].index(variant.parameter)
    level = {
        "DBT": 100.0,
        "SBT": 100.3,
        "BT": 102.0,
        "d-DBT": 99.0,
        "d-SBT": 101.5,
        "d-BT": 101.0,
        "ind-DBT": 103.0,
        "ind-SBT": 100.7,
        "ind-BT": 104.0,
        "MBS": 101.0,
        "PLAS": 102.0,
    }[variant.algorithm]
    slope = {"SBT": -0.02, "DBT": -0.02, "d-DBT": 0.02}.get(variant.algorithm, 0.0)
    extra = 0.0 if variant.algorithm in ("SBT", "DBT") else 0.2 * c
    return level + slope * c * step + extra


def all_findings(found):
    return choices._judge(found)


@pytest.mark.thorough
def test_every_claim_holds_on_times_that_bear_it_out():
    found = all_findings(planted(as_the_paper_says))
    assert [f for f in found if not f.holds] == []
    assert sorted({f.claim for f in found}) == [f"L-{k}" for k in range(22, 31)]


@pytest.mark.thorough(but=["L-27-ind-SBT-<lambda>-fails"])
@pytest.mark.parametrize(
    ("claim", "algorithm", "change", "verdict"),
    [
        ("L-22", "SBT", lambda c, step: 4.0 * step if c == 0 else 0.0, "fails"),
        ("L-23", "SBT", lambda c, step: 0.02 * c * step, "undecided"),
        ("L-23", "SBT", lambda c, step: 0.2 * step if c == 4 else 0.0, "fails"),
        ("L-24", "DBT", lambda c, step: 0.04 * c * step, "fails"),
        ("L-25", "d-DBT", lambda c, step: -0.04 * c * step, "fails"),
        ("L-25", "d-DBT", lambda c, step: 9.0 * step if c == 4 else 0.0, "fails"),
        ("L-26", "MBS", lambda c, step: -9.0, "fails"),
        ("L-26", "PLAS", lambda c, step: 10.0 if c < 16 else 0.0, "fails"),
        ("L-27", "ind-SBT", lambda c, step: -9.0, "fails"),
        ("L-28", "BT", lambda c, step: -9.0, "fails"),
        ("L-29", "ind-DBT", lambda c, step: -9.0, "fails"),
        ("L-29", "d-SBT", lambda c, step: -9.0, "fails"),
        ("L-30", "DBT", lambda c, step: -9.0 if c == 0 else 0.0, "fails"),
        ("L-30", "d-BT", lambda c, step: -9.0 if c == 16 else 0.0, "fails"),
    ],
)
def test_a_claim_that_does_not_hold_is_found_out(claim, algorithm, change, verdict):
    def times(variant, c):
        value = as_the_paper_says(variant, c)
        if variant.algorithm == algorithm:
            steps = [v.parameter for v in variants(algorithm)]
            value += change(c, steps.index(variant.parameter))
        return value

    wrong = {(f.claim, f.verdict) for f in all_findings(planted(times)) if not f.holds}
    assert (claim, verdict) in wrong  # no effect at all is no contradiction, but all others are


@pytest.mark.thorough
def test_a_trend_within_its_noise_bears_nothing_out():
    found = planted(lambda v, c: 100.0)
    judged = [f for f in all_findings(found) if f.claim not in ("L-22", "L-27", "L-30")]
    # An interval of noise leaves out zero once in twenty times, on either side.
    assert sum(f.holds for f in judged) <= 2
    assert sum(f.verdict == "undecided" for f in judged) >= len(judged) - 6


def test_a_verdict_is_undecided_where_an_interval_holds_zero():
    down, up, open_ = (Estimate(mean, 1.0, 0.95, 9) for mean in (-2.0, 2.0, 0.5))
    assert [all_below_zero(x) for x in (down, up, open_)] == ["holds", "fails", "undecided"]
    assert [all_above_zero(x) for x in (down, up, open_)] == ["fails", "holds", "undecided"]
    assert all_below_zero(down, open_) == all_above_zero(up, open_) == "undecided"
    assert all_below_zero(down, up, open_) == all_above_zero(down, up) == "fails"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("claim", "better", "rival"),
    [("L-26", "DBT", "MBS"), ("L-28", "SBT", "BT"), ("L-29", "d-DBT", "ind-DBT")],
)
def test_a_gap_within_its_noise_is_neither_borne_out_nor_contradicted(claim, better, rival):
    """A mean on the paper's side by a tenth of the interval; what is printed says so."""
    rng = np.random.default_rng(8)
    found = planted(lambda v, c: 100.0 - 0.01 * (v.algorithm == better))
    for (variant, _), run in found.runs.items():
        if variant.algorithm in (better, rival):
            for name in KEPT:
                run.values[name] = run.values[name] + rng.normal(0.0, 0.3, 20)
    judged = [f for f in all_findings(found) if f.claim == claim and better in f.sentence]
    [own] = [f for f in judged if f.sentence.endswith(f" than {rival}")]
    assert own.verdict == "undecided"
    assert str(own).startswith(f"{claim} undecided: ")


def test_which_line_is_the_lowest_is_found_out():
    assert claims.lowest(planted(lambda v, c: 100.0 + c, ["SBT"]), "SBT").holds
    assert not claims.lowest(planted(lambda v, c: 100.0 - (c == 4), ["SBT"]), "SBT").holds


def test_how_busy_the_mesh_is_has_the_paper_s_bounds():
    assert claims.BUSY == (0.6, 0.75)
    assert claims.busy(planted(lambda v, c: 0.7, ["SBT"], (0,))).holds is False  # noise of 2
    cells = {(v, 0): {"utilisation": np.array([0.61, 0.74])} for v in variants("SBT")}
    assert claims.busy(Campaign.of_values(cells)).holds
    cells[variants("SBT")[0], 0] = {"utilisation": np.array([0.5, 0.5])}
    assert not claims.busy(Campaign.of_values(cells)).holds


def test_what_the_paper_says_of_a_line_comes_from_the_published_table():
    assert [said_of("SBT", c) for c in COMMUNICATIONS] == [
        "flat",
        "",
        "",
        "falls",
        "falls",
        "falls",
    ]
    assert said_of("DBT", 16) == "falls"
    assert [said_of("d-DBT", c) for c in (0, 2, 8)] == ["", "", "rises"]


# Outcomes


@pytest.mark.thorough(but=["liu-fig3"])
@pytest.mark.parametrize("name", one_in_the_gate(BY_NAME, GATE))
def test_every_experiment_says_where_it_comes_from_and_judges_its_claims(outcomes, name):
    experiment, outcome = BY_NAME[name], outcomes[name]
    assert experiment.name == name
    assert "Liu, Hsu, Wu" in experiment.source
    expected = {
        "liu-fig3": {"L-19", "L-22", "L-23"},
        "liu-fig4": {"L-19", "L-22", "L-24"},
        "liu-fig5": {"L-19", "L-25"},
        "liu-fig6": {"L-19", "L-26"},
        "liu-conclusions": {"L-27", "L-28", "L-29", "L-30"},
        "liu-choices": {f"L-{k}" for k in range(22, 31)},
    }[name]
    assert {f.claim for f in outcome.findings} == expected
    assert all(f.detail for f in outcome.findings)


@pytest.mark.thorough
@pytest.mark.parametrize("name", one_in_the_gate(FIGURES, GATE))
def test_every_cell_has_both_times_with_intervals(outcomes, name):
    table = outcomes[name].table
    assert len(table) == table.drop_duplicates(["algorithm", "parameter", "communications"]).shape[0]
    assert len(table) == (30 if name == "liu-fig6" else 12)
    for column in ("makespan_s", "turnaround_s", "makespan_half_width_s", "utilisation"):
        assert (table[column] > 0).all()
    assert (table.turnaround_s <= table.makespan_s).all()
    if name != "liu-fig6":
        assert set(table.makespan_trend) <= {"falls", "rises", "no trend"}
        assert "paper" in table


@pytest.mark.thorough(but=["liu-fig6"])
@pytest.mark.parametrize("name", one_in_the_gate([*FIGURES, "liu-conclusions"], GATE))
def test_every_figure_has_four_panels_with_curves_intervals_and_units(outcomes, name):
    figure = outcomes[name].figure()
    figure.canvas.draw()
    assert len(figure.axes) == 4
    assert [ax.get_ylabel()[-3:] for ax in figure.axes] == ["[s]", "[s]", "[%]", "[%]"]
    for ax in figure.axes:
        assert len(ax.containers) == 3
    shown = [float(y) for line in figure.axes[0].lines for y in line.get_ydata() if len(line.get_ydata()) > 2]
    table = outcomes[name].table
    rows = table[table.best] if "best" in table else table
    assert set(np.round(rows.makespan_s, 9)) <= set(np.round(shown, 9))


@pytest.mark.thorough
def test_the_best_parameter_is_the_one_with_the_least_makespan_over_all_mixtures(outcomes):
    table = outcomes["liu-fig6"].table
    assert set(table[table.best].algorithm) == {"DBT", "d-DBT", "MBS", "PLAS"}
    for _, rows in table.groupby("algorithm"):
        means = np.log(rows.makespan_s).groupby(rows.parameter).mean()
        assert set(rows[rows.best].parameter) == {means.idxmin()}


@pytest.mark.thorough
@pytest.mark.slow
def test_verdicts_under_other_choices_are_drawn_and_told(outcomes):
    outcome = outcomes["liu-choices"]
    assert len(outcome.findings) == 16
    assert list(outcome.table.choice.unique()) == list(choices.OTHERS)[:2]
    figure = outcome.figure()
    figure.canvas.draw()
    assert len(figure.axes[0].texts) == 32
    first, second = (rows.verdict.tolist() for _, rows in outcome.table.groupby("choice", sort=False))
    assert {*first, *second} <= {"holds", "fails", "undecided"}
    reversed_ = [{a, b} == {"holds", "fails"} for a, b in zip(first, second, strict=True)]
    assert [f.fails for f in outcome.findings] == reversed_
    # Where our own verdict is open there is none that another choice could reverse.
    assert [f.verdict == "undecided" for f in outcome.findings] == [word == "undecided" for word in first]


def test_every_choice_changes_one_thing_and_can_be_built():
    ours = choices.OTHERS[choices.AS_CHOSEN]
    assert ours == Choices()
    for name, other in choices.OTHERS.items():
        fields = [f for f in vars(ours) if getattr(ours, f) != getattr(other, f)]
        assert len(fields) == (name != choices.AS_CHOSEN)
        machine(Variant("d-DBT", "1/4"), 4, other)


#: Seconds for each communication in a world where every sentence of the paper holds.
SLOPES = {
    "DBT": 0.8,
    "SBT": 0.9,
    "d-DBT": 1.0,
    "ind-SBT": 1.1,
    "d-SBT": 1.2,
    "ind-DBT": 1.3,
    "d-BT": 1.35,
    "ind-BT": 1.4,
    "BT": 1.5,
    "MBS": 1.6,
    "PLAS": 1.7,
}


def as_said(variant, c, sign=1.0):
    """Two runs of a cell in that world, or in its reverse; runs differ alike in all cells."""
    step = [v.parameter for v in variants(variant.algorithm)].index(variant.parameter)
    start = 10.2 if variant.algorithm in ("DBT", "SBT") else 9.9 if variant.algorithm == "d-DBT" else 10.0
    tilt = {"DBT": -0.01, "SBT": -0.01, "d-DBT": 0.01}.get(variant.algorithm, 0.0)
    seconds = 40.0 + sign * (start + c * (SLOPES[variant.algorithm] + step * tilt))
    values = {
        "makespan": seconds,
        "turnaround": 0.7 * seconds,
        "service": 0.5 * seconds,
        "utilisation": 0.65,
        "contention": 0.1,
    }
    return {name: value * np.array([1.0, 1.0001]) for name, value in values.items()}


def told(kept):
    """Options under which all cells were run already: by choices, the sign of `as_said`."""
    shared = SharedRuns()
    for choice, sign in kept.items():
        for c in (0, 4, 16):
            for variant in variants(*choices.ALL):
                shared.keep(("liu", (variant, c), choice, 0), as_said(variant, c, sign))
    return RunOptions(quick=True, shared=shared)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["liu-fig4", "liu-fig5", "liu-fig6", "liu-conclusions"])
def test_every_sentence_holds_of_runs_as_the_paper_has_them(name):
    outcome = BY_NAME[name].run(told({Choices(): 1.0}))
    judged = [finding for finding in outcome.findings if "placed at once" not in finding.sentence]
    assert [str(finding) for finding in judged if not finding.holds] == []
    assert len(outcome.figure().axes) == 4


@pytest.mark.thorough
def test_a_choice_under_which_all_is_the_other_way_round_reverses_what_is_compared():
    ours, other = list(choices.OTHERS.values())[:2]
    outcome = BY_NAME["liu-choices"].run(told({ours: 1.0, other: -1.0}))
    assert len(outcome.findings) == 16
    stays = [finding.claim for finding in outcome.findings if not finding.fails]
    assert stays == ["L-22", "L-22"]  # flat lines are flat in either
    assert len(outcome.figure().axes[0].texts) == 32


@pytest.mark.thorough
def test_progress_is_reported_up_to_the_end():
    said = []
    options = replace(QUICK, seed=99, progress=lambda *words: said.append(words))
    campaign(variants("MBS"), options, what="some")
    assert said == [("some", done, 6) for done in range(1, 7)]


# Samples of the claims that the physics of the model decides


@pytest.mark.thorough
def test_with_io_alone_neither_tolerance_matters_much():
    """L-22: the relative range over the parameter is below 5 %."""
    options = RunOptions(seed=2, workers=1)
    found = campaign(variants("SBT", "DBT"), options, what="x", runs=20, communications=(0,))
    for algorithm in ("SBT", "DBT"):
        finding = claims.flat(found, algorithm)
        assert finding.holds, finding.detail


@pytest.mark.slow
def test_pieces_together_suit_dbt_and_sbt_as_well():
    """L-29 with much communication: its first half holds, its second is reversed."""
    some = [
        Variant(kind + tree, "1/4" if tree == "DBT" else "16")
        for kind in ("d-", "ind-")
        for tree in ("DBT", "SBT")
    ]
    options = RunOptions(seed=2, workers=1)
    found = campaign(some, options, what="x", runs=20, communications=(16,))
    assert [f.verdict for f in claims.suited(found)] == ["holds", "fails"]


@pytest.mark.slow
def test_pieces_together_suit_dbt_and_sbt_as_well_over_all_mixtures():
    """L-29 in full: -4.4 and +4.4 % lie in intervals of less than two per cent."""
    some = variants("d-DBT", "ind-DBT", "ind-SBT", "d-SBT")
    found = campaign(some, RunOptions(seed=2), what="x", runs=120)
    for (better, worse), row in ((("d-DBT", "ind-DBT"), -0.044), (("ind-SBT", "d-SBT"), 0.044)):
        gap = claims._over_all(found, found.of(better), found.of(worse), "makespan")
        # Two samples of 120 runs: their difference scatters by sqrt(2) of either.
        assert abs(gap.mean - row) < 1.5 * 2**0.5 * gap.half_width
        assert gap.half_width < 0.01
    assert [f.verdict for f in claims.suited(found)] == ["holds", "fails"]


@pytest.mark.slow
def test_with_16_communications_dbt_leads_by_margins_that_grow():
    """L-26 in full, on other tasks than those of the row: all four sentences hold."""
    found = campaign(variants("DBT", "d-DBT", "MBS", "PLAS"), RunOptions(seed=2), what="x", runs=250)
    judged = list(claims.leads(found))
    assert [f.verdict for f in judged] == ["holds"] * 4
    here = found.best_of("DBT")
    for rival, row, slope in (
        ("d-DBT", -0.050, 0.17),
        ("MBS", -0.099, 0.27),
        ("PLAS", -0.058, 0.24),
    ):
        there = found.best_of(rival)
        gap = claims._gap(found, here, there, 16, "makespan")
        grows = claims._advantage(found, here, there, "makespan")
        # Two samples of 250 runs: their difference scatters by sqrt(2) of either.
        assert abs(gap.mean - row) < 1.5 * 2**0.5 * gap.half_width
        assert abs(grows.mean - slope) < 1.5 * 2**0.5 * grows.half_width


@pytest.mark.slow
def test_with_much_communication_dbt_beats_mbs_and_plas():
    """L-26, against two of its three rivals: the interval of the paired gap is below zero."""
    options = RunOptions(seed=2, workers=1)
    some = [Variant("DBT", "1/2"), *variants("MBS", "PLAS")]
    found = campaign(some, options, what="x", runs=250, communications=(16,))
    for rival in some[1:]:
        gap = found.compare((some[0], 16), (rival, 16), "makespan", relative=True)
        assert gap.high < 0, f"{rival.label}: {gap}"
