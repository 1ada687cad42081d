"""Table 2, figures 9 and 10 and the statements of Mache, Lo and Garg: M-22 to M-28, E44."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.outcomes import Outcomes, one_in_the_gate
from validation.jobs import JobStream
from validation.machine import QUANTITIES, Machine, StrategyComparison, play
from validation.machine.runs import MachineRun
from validation.mesh import Mesh
from validation.papers import RunOptions, SharedRuns
from validation.papers.mache import EXPERIMENTS, layouts, load, sdsc, sweep, table2
from validation.papers.mache.campaign import Load, kendall
from validation.papers.mache.readings import READINGS
from validation.papers.mache.setup import (
    STRATEGIES,
    published,
)

QUICK = RunOptions(seed=1, quick=True)
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


@pytest.fixture(scope="module")
def outcomes():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(sdsc.VARIABLE, raising=False)
        yield Outcomes(EXPERIMENTS, QUICK)


@pytest.fixture(scope="module")
def history():
    jobs = JobStream(arrivals=[0.0], sizes=[1])
    return play(Machine(mesh=Mesh(2, 2, io_side="west")), jobs)


@pytest.fixture
def made(history):
    """Loads with given values: a strategy has the same mean in both replications, or as told."""

    def make(share, target=0.65, **given):
        runs = {}
        for name in STRATEGIES:
            values = {}
            for quantity in QUANTITIES:
                value = given.get(quantity, {}).get(name, 1.0)
                values[quantity] = value if isinstance(value, tuple) else (value * 0.999, value * 1.001)
            runs[name] = MachineRun(
                label=name, unit="cycles", values=values, confidence=0.95, seed=0, first=history
            )
        return Load(share, target, target, 100.0, StrategyComparison(runs))

    return make


@pytest.fixture
def printed(made):
    """The loads of table 2 as the paper prints them."""
    table = published()
    loads = {}
    for percent, rows in table.groupby("io_percent"):
        service = dict(zip(rows.strategy, rows.service, strict=True))
        loads[percent] = made(percent / 100, service=service)
    return loads


# What the paper prints: E31, E43, E44, M-22, M-27


def test_the_published_table_has_36_times_and_35_ranks_that_agree_with_them():
    table = published()
    assert len(table) == 36
    places = table.groupby("io_percent").service.rank().astype(int)
    wrong = table[places != table["rank"]]
    assert wrong[["io_percent", "strategy"]].to_numpy().tolist() == [[60, "MC-Elongated"]]
    spread = table.groupby("io_percent").service.agg(lambda t: t.max() / t.min())
    assert spread.loc[[100, 80, 60, 40, 20, 0]].round(3).tolist() == [
        1.486,
        1.512,
        1.402,
        1.559,
        1.584,
        2.019,
    ]


def test_kendalls_tau_is_that_of_the_textbook():
    table = published().pivot(index="strategy", columns="io_percent", values="service")
    assert kendall(list(table[20]), list(table[100])) == pytest.approx(0.60, abs=0.005)
    assert kendall(list(table[20]), list(table[0])) == pytest.approx(0.33, abs=0.005)
    from scipy.stats import kendalltau

    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(5, size=(2, 8)).astype(float)
        assert kendall(a, b) == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)


def test_the_paper_bears_out_its_own_table(printed):
    found = list(table2.claims(list(printed.values())))
    # At 60 % PLAS is ahead by .4 %, see E43: best in the text, not in the times.
    assert [f.sentence for f in found if not f.holds] == [
        "MC-Elongated is best at 60, 40 and 20 % I/O, or tied"
    ]
    assert {f.claim for f in found} == {"M-22", "M-27"}


def test_littles_law_on_the_printed_times_is_that_of_the_errata(printed):
    table = table2.cells([printed[p] for p in table2.PERCENT])
    row = table[table.strategy == "MC-Elongated"]
    assert row.paper_littles_law.round(3).tolist() == [0.775, 0.761, 0.643, 0.506, 0.511, 0.898]
    paging = table[(table.strategy == "Paging") & (table.io_percent == 100)]
    assert paging.paper_littles_law.item() > 1.0  # why size and service must be correlated
    [finding] = table2.utilisations(list(printed.values()))
    assert (finding.claim, finding.holds) == ("E44", False)  # "made" loads have utilisation 1


@pytest.mark.parametrize(
    ("percent", "swap", "words"),
    [
        (100, ("PLAS", "MC"), "PLAS is best at 100%"),
        (0, ("MC", "PLAS"), "MC is best at 0%"),
        (40, ("Paging", "Random"), "Paging is worst"),
        (80, ("MC-Elongated", "Paging"), "never below third"),
        (20, ("MC-Elongated", "MC"), "within 10 %"),
        (40, ("MC-Elongated", "Paging"), "40 % I/O: the order"),
    ],
)
def test_a_claim_of_table_two_that_does_not_hold_is_found_out(printed, percent, swap, words):
    runs = dict(printed[percent].runs.runs)
    runs[swap[0]], runs[swap[1]] = runs[swap[1]], runs[swap[0]]
    printed[percent] = replace(printed[percent], runs=StrategyComparison(runs))
    failing = [f for f in table2.claims(list(printed.values())) if not f.holds]
    assert any(words in f.sentence for f in failing)


@pytest.mark.parametrize(
    ("service", "verdict"),
    [
        ({"PLAS": (9.0, 9.1), "MC": (9.5, 9.6)}, "holds"),
        ({"PLAS": (9.5, 9.6), "MC": (9.0, 9.1)}, "fails"),
        ({"PLAS": (9.5, 9.0), "MC": (8.0, 9.6)}, "undecided"),
        ({"PLAS": (9.5,), "MC": (1.0,)}, "undecided"),
    ],
)
def test_a_strategy_behind_the_best_within_noise_is_not_called_tied(made, service, verdict):
    """An interval that contains zero may be as wide as it likes: it proves no tie."""
    runs = len(service["MC"])
    others = dict.fromkeys(STRATEGIES, (20.0,) * runs) | service
    at_io = made(1.0, **dict.fromkeys(QUANTITIES, others))
    assert table2._best_or_tied("PLAS", at_io) == verdict
    [finding] = [f for f in table2.claims([at_io]) if "PLAS is best" in f.sentence]
    assert finding.verdict == verdict
    rows = {row["strategy"]: row for row in at_io.rows()}
    assert rows["MC"]["service_less_best_verdict"] in ("worse", "undecided")


# What the load changes: M-23 to M-26, M-28


def test_the_claims_over_the_load_are_decided_by_paired_differences(made):
    def found(**given):
        return {
            p: [made(p / 100, 0.1 + 0.4 * k, **{q: v[k] for q, v in given.items()}) for k in (0, 1)]
            for p in (100, 40, 0)
        }

    low = dict.fromkeys(STRATEGIES, 10.0)
    high = dict.fromkeys(STRATEGIES, 20.0)
    rising = found(
        nodes_affected=[low | {"PLAS": 15.0}, high | {"PLAS": 30.0}],
        system_balance=[high | {"MC-Elongated": 1.0}, low | {"MC-Elongated": 1.0}],
        service=[low, high],
    )
    assert all(f.holds for f in [*layouts.spread_claims(rising), *layouts.balance_claims(rising)])
    assert all(f.holds for f in load._service(rising))
    falling = found(nodes_affected=[high, low], system_balance=[low, high], service=[high, low])
    assert not any(f.holds for f in [*layouts.spread_claims(falling), *layouts.balance_claims(falling)])
    assert not any(f.holds for f in load._service(falling))
    noisy = found(nodes_affected=[low, dict.fromkeys(STRATEGIES, (1.0, 50.0))])
    assert not any(f.holds for f in layouts.spread_claims(noisy))
    assert {f.verdict for f in layouts.spread_claims(noisy) if f.claim == "M-25"} == {"undecided"}
    assert {f.verdict for f in [*layouts.spread_claims(falling), *load._service(falling)]} == {
        "fails",
        "undecided",
    }


def test_ratios_of_turnaround_and_spreads_are_held_against_their_bounds(made):
    base = dict.fromkeys(STRATEGIES, 10.0)
    rows = {
        100: [base | {"Paging": 38.0}, base],
        40: [base, base],
        0: [base, base | {"PLAS": 15.0}],
    }
    found = {
        p: [made(p / 100, 0.1 + 0.8 * k, turnaround=row[k], service=row[k]) for k in (0, 1)]
        for p, row in rows.items()
    }
    turn, spread = list(load._turnarounds(found)), list(load._spreads(found))
    assert all(f.holds for f in turn + spread)
    assert "up to 3.800 (Paging, 100% I/O, utilisation 0.1)" in turn[0].detail
    assert "up to 1.500 (PLAS, 0% I/O, utilisation 0.9)" in turn[1].detail
    worse = dict.fromkeys(STRATEGIES, 10.0) | {"MC-Elongated": 14.0}
    found = {p: [made(p / 100, 0.5, turnaround=worse, service=worse)] * 2 for p in (100, 40, 0)}
    assert not any(f.holds for f in [*load._turnarounds(found), *load._spreads(found)])


# The experiments


def test_every_experiment_is_named_and_explained():
    assert sorted(BY_NAME) == [
        "mache-fig10",
        "mache-fig9",
        "mache-load",
        "mache-sdsc",
        "mache-table2",
        "mache-table2-packets-per-job",
        "mache-table2-packets-per-node",
        "mache-table2-worms-per-job",
        "mache-table2-worms-per-node",
    ]
    for experiment in EXPERIMENTS:
        assert "Mache" in experiment.source
    assert sdsc.VARIABLE in BY_NAME["mache-sdsc"].claim


GATE = "mache-table2-worms-per-job"


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("name", one_in_the_gate(BY_NAME, {GATE}))
def test_a_quick_run_goes_through_every_claim(outcomes, name):
    claims = {f.claim for f in outcomes[name].findings}
    if name.startswith("mache-table2"):
        assert claims >= {"M-22", "E44"}
    else:
        assert (
            claims
            == {
                "mache-fig9": {"M-24", "M-25"},
                "mache-fig10": {"M-24", "M-25"},
                "mache-load": {"M-23", "M-26", "M-28"},
                "mache-sdsc": {"M-22"},
            }[name]
        )


@pytest.mark.thorough
@pytest.mark.parametrize("name", one_in_the_gate(BY_NAME, {GATE}))
def test_every_table_has_a_row_for_each_strategy_at_each_load(outcomes, name):
    table = outcomes[name].table
    if name.startswith("mache-table2"):
        readings = len(READINGS) if name == "mache-table2" else 1
        assert len(table) == 6 * len(table2.QUICK_PERCENT) * readings
    elif name == "mache-sdsc":
        assert set(table.jobs) == {"surrogate", "synthetic"}
    else:
        assert len(table) == 6 * len(sweep.PERCENT) * len(sweep.QUICK_LOADS)
        for _, rows in table.groupby(["io_percent", "strategy"]):
            assert rows.target_utilisation.is_monotonic_increasing
            assert rows.interarrival_cycles.is_monotonic_decreasing
    numbers = table.select_dtypes("number")
    finite = numbers.drop(columns=[c for c in numbers if "half_width" in c])
    assert np.isfinite(finite.to_numpy()).all()


def test_the_sweep_of_one_command_is_made_once_and_not_kept_beyond_it(monkeypatch):
    made = []
    monkeypatch.setattr(sweep, "_made", lambda options: made.append(options) or {100: []})
    options = replace(QUICK, shared=SharedRuns())
    assert sweep.sweep(options) is sweep.sweep(replace(options, workers=2))
    assert len(made) == 1
    sweep.sweep(replace(options, seed=2))
    sweep.sweep(replace(options, shared=SharedRuns()))
    assert len(made) == 3


@pytest.mark.thorough
@pytest.mark.slow
def test_figures_nine_and_ten_and_the_loads_share_their_runs(outcomes):
    tables = [outcomes[name].table for name in ("mache-fig9", "mache-fig10", "mache-load")]
    for one, other in pairwise(tables):
        assert one.equals(other)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "module"), [("sdsc", sdsc), ("fig9", sweep), ("fig10", sweep), ("load", sweep)]
)
def test_every_sentence_holds_of_runs_as_the_paper_has_them(name, module, made, monkeypatch):
    """The log and the synthetic jobs alike; times that differ less with load for I/O, more without."""

    def campaign(plans, options, *, what):
        return [load_of(plan.io_share, target) for plan in plans for target in plan.targets]

    def load_of(share, target):
        apart = {1.0: 1.0 - target, 0.0: target}.get(share, 0.5)
        ranks = {strategy: rank for rank, strategy in enumerate(STRATEGIES)}
        return made(
            share,
            target,
            service={s: 1000.0 * (1.0 + target) * (1.0 + apart * rank / 10) for s, rank in ranks.items()},
            turnaround={s: 1.0 + 0.2 * rank for s, rank in ranks.items()},
            nodes_affected={s: (1.0 + target) * (10.0 + rank) for s, rank in ranks.items()},
            system_balance={s: (2.0 - target) * (10.0 + rank) for s, rank in ranks.items()},
        )

    monkeypatch.delenv(sdsc.VARIABLE, raising=False)
    monkeypatch.setattr(module, "campaign", campaign)
    outcome = BY_NAME[f"mache-{name}"].run(RunOptions(quick=True))
    assert [str(finding) for finding in outcome.findings if not finding.holds] == []
    assert {text.get_text() for text in outcome.figure().legends[0].get_texts()} == set(STRATEGIES)


@pytest.mark.thorough
@pytest.mark.parametrize("name", one_in_the_gate(BY_NAME, {GATE}))
def test_every_figure_shows_every_strategy(outcomes, name):
    figure = outcomes[name].figure()
    figure.canvas.draw()
    legend = figure.legends[0]
    shown = {text.get_text() for text in legend.get_texts()}
    if name.startswith("mache-table2-"):
        assert shown == {"paper", "ours, 95 % interval"}
        ticks = [tick.get_text() for tick in figure.axes[-1].get_xticklabels()]
        assert ticks == list(STRATEGIES)
    else:
        assert shown == set(STRATEGIES)


@pytest.mark.slow
def test_the_record_bears_out_what_claims_md_says():
    """Some ten minutes on two cores; the table's near ties may fall either way."""
    options = RunOptions(seed=0)
    found = {f.sentence: f.holds for f in BY_NAME["mache-table2-worms-per-job"].run(options).findings}
    for percent in (80, 60, 40, 20):
        assert found[f"{percent} % I/O: the order of the strategies is near the paper's, tau >= 0.45"]
    assert found["MC is best at 0% I/O, or tied"]
    assert found["Paging is worst from 20 % I/O up"]
    assert found["MC-Elongated is within 10 % of the best at 60, 40 and 20 % I/O"]
    assert found["the order at 20 % I/O is nearer to that at 100 % than to that at 0 %"]
    names = ("mache-fig9", "mache-fig10", "mache-load")
    failing = [f for name in names for f in BY_NAME[name].run(options).findings if not f.holds]
    assert sorted({f.claim for f in failing}) == ["M-23", "M-25"]
    assert [f.sentence.split(":")[0] for f in failing if f.claim == "M-25"] == [
        "MC",
        "Random",
        "MBS",
        "MC",
    ]
