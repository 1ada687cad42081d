"""Figure 4: utilisation against the load, both disciplines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from validation.papers.bani_mohammad.campaign import Campaign
from validation.papers.bani_mohammad.claims import everywhere, published
from validation.papers.bani_mohammad.fig3 import by_discipline, curves
from validation.papers.bani_mohammad.setup import DISCIPLINES, SOURCE, STRATEGIES, Cell
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_hold, within

#: What the requirements accept for the two printed utilisations, and how far they lie apart.
BANDS = {"TBL": (0.47, 0.60), "BL": (0.37, 0.48)}
LEAST_GAP = 0.05


def run(options: RunOptions) -> Outcome:
    """Utilisation of the curves of figure 3."""
    return curves(options, "utilisation", "mean utilisation", _findings)


def _findings(found: Campaign, loads: Sequence[float]) -> Iterator[Finding]:
    last = loads[-1]
    for strategy, (low, high) in BANDS.items():
        known = found.estimate(Cell(strategy, "SSD", last), "utilisation")
        printed = published()[f"4 {strategy}(SSD)", ""]
        yield Finding(
            "B-18",
            f"{strategy}(SSD) keeps {low:.0%} to {high:.0%} of the nodes busy at load {last}",
            within(known, low, high),
            f"{known.mean:.3f} ± {known.half_width:.3f}; paper {printed:.2f}",
        )
    plain = {s: found.estimate(Cell(s, "SSD", last), "utilisation") for s in ("BL", "FF")}
    most = published()["4 BL(SSD)", ""]
    yield Finding(
        "B-18",
        f"without turning no strategy exceeds {most:.0%}, at any load",
        all_hold(
            within(found.estimate(Cell(s, d, x), "utilisation"), 0.0, most)
            for s in plain
            for d in DISCIPLINES
            for x in loads
        ),
        ", ".join(f"{s}(SSD) {x.mean:.3f} ± {x.half_width:.3f}" for s, x in plain.items()) + f" at {last}",
    )
    gap = (
        found.values(Cell("TBL", "SSD", last), "utilisation").mean()
        - found.values(Cell("BL", "SSD", last), "utilisation").mean()
    )
    more = found.compare(Cell("TBL", "SSD", last), Cell("BL", "SSD", last), "utilisation", relative=True)
    least = LEAST_GAP / found.estimate(Cell("BL", "SSD", last), "utilisation").mean
    yield Finding(
        "B-18",
        f"turning gives {LEAST_GAP} of the nodes or more under SSD, at load {last}",
        within(more.difference, least, 9.0),
        f"{gap:+.3f}, {more.interval} of BL(SSD)",
    )
    for strategy in STRATEGIES:
        yield everywhere(
            found,
            "B-19",
            f"{strategy}: a higher utilisation under SSD than under FCFS, at every load",
            by_discipline(strategy, loads),
            "utilisation",
        )


EXPERIMENT = Experiment(
    name="bani-fig4",
    source=f"{SOURCE}, figure 4",
    claim="with turning and the shortest demand first half of the machine is busy, without it less",
    run=run,
)
