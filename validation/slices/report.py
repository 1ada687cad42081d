"""The report on slices: sentences, one page, tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from qmodels.pages.report import Grid, Picture, Report, Section
from qmodels.words import in_words, plain_number
from validation.analysis.estimates import Estimate
from validation.slices.pod import Shape, in_text
from validation.slices.results import SliceSimulation
from validation.slices.scenario import pod_in_words
from validation.slices.study import SliceStudy, Ways

#: Share of the time below which it is not said that a head fits by count alone.
_RARELY = 0.005
#: Slices of which a table is shown.
_MOST_SHAPES: Final = 12


def findings(study: SliceStudy) -> list[str]:
    """What the study says, in sentences; a difference within its interval is no difference."""
    found = []
    first = study.disciplines[0]
    best = _best(study, first)
    if best is not None and "any-blocks" in study.strategies:
        found.append(_cost(study, study.of("any-blocks", first), best))
    if best is not None:
        found += _stuck(study, best)
        found += [_overtaking(study, best, other) for other in study.disciplines[1:]]
    if best is not None and "any-blocks" in study.strategies and len(study.disciplines) > 1:
        found += _decision(study, best)
    found += _growing(study)
    found += _refusals(study)
    return found


def _best(study: SliceStudy, discipline: str) -> Ways | None:
    """The contiguous strategy that does best: busiest with a full queue, else shortest wait."""
    ways = [study.of(name, discipline) for name in study.contiguous]
    if not ways:
        return None

    def rank(way: Ways) -> float:
        if way.full is not None:
            return -way.full.utilisation.mean
        return way.loaded.wait.mean if way.loaded.wait is not None else float("inf")

    return min(ways, key=rank)


def _cost(study: SliceStudy, free: Ways, best: Ways) -> str:
    """What boxes cost against any blocks."""
    text = ""
    if free.full is not None and best.full is not None:
        gap = study.full.compare(free.name, best.name)
        text = (
            f"With a full queue, {free.discipline}, any blocks keep "
            f"{free.full.utilisation.mean:.0%} of the pod busy, boxes at best "
            f"{best.full.utilisation.mean:.0%} ({best.strategy})"
        )
        text += (
            f": contiguity costs {gap.mean * 100:.0f} points (± {gap.half_width * 100:.1f}). "
            if gap.verdict == "better"
            else f": no cost of contiguity that {best.full.replications} runs could show. "
        )
    return text + (
        f"At load {study.load:.2g} a job waits {_time(study, free.loaded.wait)} on average for any "
        f"blocks, {_wait(study, best.loaded)} for a box"
        f"{_p95(study, best.loaded)}."
    )


def _stuck(study: SliceStudy, best: Ways) -> list[str]:
    found = []
    share = best.loaded.fits_by_count
    if share.mean > _RARELY:
        found.append(
            f"{share.mean:.0%} of the time (± {share.half_width * 100:.1f} points) enough blocks "
            f"are free for the job that has waited longest, but they form no box of its shape "
            f"({best.strategy}, {best.discipline}, load {study.load:.2g})."
        )
    return found


def _overtaking(study: SliceStudy, best: Ways, discipline: str) -> str:
    """What letting jobs overtake gives the same strategy."""
    other = study.of(best.strategy, discipline)
    text = f"Letting jobs overtake ({discipline}, {best.strategy}) "
    if other.full is not None and best.full is not None:
        gap = study.full.compare(other.name, best.name)
        text += {
            "better": f"keeps {gap.mean * 100:.0f} points more of the pod busy (± "
            f"{gap.half_width * 100:.1f}) when 50 jobs always wait",
            "worse": f"keeps {-gap.mean * 100:.0f} points less of the pod busy when 50 jobs always wait",
            "undecided": f"makes no difference to how busy the pod is that "
            f"{best.full.replications} runs could show",
        }[gap.verdict]
        text += f"; at load {study.load:.2g} "
    else:
        text = f"{text.rstrip()}: "
    text += f"a job waits {_wait(study, other.loaded)} instead of {_wait(study, best.loaded)}"
    largest, before = other.loaded.shapes[-1], best.loaded.shapes[-1]
    if largest.wait is not None and before.wait is not None and not other.loaded.growing:
        text += (
            f", one for {in_text(largest.shape)} {_time(study, largest.wait)} instead of "
            f"{_time(study, before.wait)}"
        )
    return text + "."


def _decision(study: SliceStudy, best: Ways) -> list[str]:
    """Whether a switch or another queue does more, where both can be compared."""
    free = study.of("any-blocks", study.disciplines[0])
    queues = [study.of(best.strategy, name) for name in study.disciplines[1:]]
    steady = [way for way in queues if not way.loaded.growing]
    if free.loaded.growing or not steady:
        return []
    queue = min(steady, key=lambda way: way.loaded.wait.mean if way.loaded.wait else float("inf"))
    gap = study.loaded.compare(free.name, queue.name)
    more = {
        "better": "the switch shortens the mean wait more",
        "worse": f"{queue.discipline} shortens the mean wait more",
        "undecided": "these runs do not show which shortens the mean wait more",
    }[gap.verdict]
    return [
        f"A switch, with jobs in order of arrival, or boxes with {queue.discipline}: {more} "
        f"({_time(study, free.loaded.wait)} with the switch, {_time(study, queue.loaded.wait)} "
        f"with {queue.discipline})."
    ]


def _growing(study: SliceStudy) -> list[str]:
    names = [f"{way.strategy} ({way.discipline})" for way in study.ways if way.loaded.growing]
    if not names:
        return []
    return [
        f"At load {study.load:.2g} the queue grows without end under {', '.join(names)}: waits "
        "there say only how long was played."
    ]


def _refusals(study: SliceStudy) -> list[str]:
    parts = []
    for run in study.refusing:
        largest = run.shapes[-1]
        if largest.refused is not None:
            parts.append(f"{run.strategy} {largest.refused.mean:.0%}")
    shape = in_text(study.refusing[0].shapes[-1].shape)
    if not parts:
        return []
    return [f"If nobody could wait, so many {shape} slices would be refused: {', '.join(parts)}."]


def _wait(study: SliceStudy, run: SliceSimulation) -> str:
    return "without end" if run.growing else _time(study, run.wait)


def _p95(study: SliceStudy, run: SliceSimulation) -> str:
    if run.growing or run.wait_p95 is None:
        return ""
    return f", one in twenty longer than {_time(study, run.wait_p95)}"


def _time(study: SliceStudy, found: Estimate | None) -> str:
    if found is None:
        return "unknown"
    if study.unit == "s":
        half = in_words(found.half_width, like=found.mean)
        return f"{in_words(found.mean)} (± {half})" if found.mean > 0.0 else "not at all"
    return f"{plain_number(found.mean, 2)} ± {plain_number(found.half_width, 1)} {study.unit}"


def _utilisation_words(study: SliceStudy) -> str:
    """The bars of the shares held, in words."""
    said = []
    for way in study.ways:
        held = (way.full or way.loaded).utilisation
        said.append(f"{way.strategy} {way.discipline} {held.mean:.1%} ± {held.half_width:.1%}")
    return f"Share of the chips held: {', '.join(said)}."


def _waits_words(study: SliceStudy) -> str:
    """The mean waits of the smallest and the largest slice, in words."""
    said = []
    for way in study.ways:
        seen = [own for own in way.loaded.shapes if own.wait is not None]
        if way.discipline == study.disciplines[0] and seen and not way.loaded.growing:
            small, large = seen[0], seen[-1]
            said.append(
                f"{way.strategy} {_time(study, small.wait)} for {in_text(small.shape)} and "
                f"{_time(study, large.wait)} for {in_text(large.shape)}"
            )
    if not said:
        return f"Nothing is drawn: at load {study.load:.3g} every queue grows without end."
    return f"Mean wait of each slice: {'; '.join(said)}."


def _layout_words(study: SliceStudy, strategy: str) -> str:
    """How full the picture of the pod is."""
    way = study.of(strategy, study.disciplines[0])
    held = (way.full or way.loaded).occupancy()
    return (
        f"Layers of the pod at the end of the first run under {strategy}: {held.free} of "
        f"{np.prod(study.pod.blocks)} blocks are free."
    )


def slice_report(study: SliceStudy) -> Report:
    """Return the report of a study.

    Parameters
    ----------
    study : SliceStudy
        All strategies under all disciplines.
    """
    from validation.slices import plotting

    full = study.ways[0].full is not None
    first = study.disciplines[0]
    busy = (
        Picture(
            "utilisation",
            "Share of the chips that jobs hold, with 95 % intervals, by strategy and discipline"
            + (
                ", where 50 jobs always wait. The more wait, the more is filled by those that overtake; "
                "in order of arrival their number does not matter."
                if full
                else "."
            ),
            lambda: (plotting.largest_utilisation(study).get_figure(), _utilisation_words(study)),
        ),
        Grid("Share of the chips held and waits, with 95 % intervals", study.ways, _ways(study), (0, 1)),
        f'Waits at load {study.load:.3g}. "Fits by count, not by shape": share of the time in which who '
        f'has waited longest finds enough blocks free, and no place. "Free but scattered": 1 - largest '
        f"free box / free blocks.",
    )
    waits: list[Picture | Grid] = [
        Picture(
            "waits",
            f"Mean wait of each slice, {first}, with 95 % intervals. Strategies whose queue grows are "
            f"left out.",
            lambda: (plotting.waits_by_slice(study).get_figure(), _waits_words(study)),
        )
    ]
    shapes = [own.shape for own in study.refusing[0].shapes]
    if len(shapes) <= _MOST_SHAPES:
        waits.append(Grid("Share of each slice that is refused if nobody waits", shapes, _refused(study)))
    layouts = Picture(
        "layouts",
        f"Who holds which block at the end of the first run, {first}: layers from below, each job in a "
        f"colour, free blocks white; the outlines of one job are black.",
        lambda: (plotting.layouts(study), ""),
        panels=lambda: [
            (plotting.layout_panel(study, name), _layout_words(study, name)) for name in study.strategies
        ],
    )
    return Report(
        title="Slices of a pod",
        subtitle=f"{pod_in_words(study.pod)}; {study.jobs}; load {study.load:.3g}",
        findings=findings(study),
        notes=study.notes,
        notes_title="What to know of the jobs",
        sections=(
            Section("busy", "What is kept busy", busy),
            Section("waits", "Who waits", waits),
            Section("layouts", "How the slices lie", (layouts,)),
        ),
        tables={"slices.csv": study.to_frame()},
        provenance="All strategies and disciplines got the same jobs. All numbers, by slice too, are in "
        "slices.csv.",
    )


def _ways(study: SliceStudy) -> dict[str, Callable[[Ways], str | None]]:
    """Columns of the table of strategies under disciplines."""

    def wait(way: Ways) -> str:
        return "the queue grows" if way.loaded.growing else _time(study, way.loaded.wait)

    def tail(of: str) -> Callable[[Ways], str | None]:
        return lambda way: None if way.loaded.growing else _time(study, getattr(way.loaded, of))

    return {
        "strategy": lambda way: way.strategy,
        "discipline": lambda way: way.discipline,
        "largest utilisation": lambda way: _percent(way.full.utilisation) if way.full is not None else "-",
        "mean wait": wait,
        "wait of 95 %": tail("wait_p95"),
        "wait of 99 %": tail("wait_p99"),
        "fits by count, not by shape": lambda way: f"{100 * way.loaded.fits_by_count.mean:.1f} %",
        "free but scattered": lambda way: (
            "-" if way.loaded.scatter is None else f"{100 * way.loaded.scatter.mean:.0f} %"
        ),
    }


def _percent(known: Estimate) -> str:
    return f"{100 * known.mean:.1f} ± {100 * known.half_width:.1f} %"


def _refused(study: SliceStudy) -> dict[str, Callable[[Shape], str]]:
    """Columns of the table of refusals: a slice, and its share refused under each strategy."""

    def share(run: SliceSimulation) -> Callable[[Shape], str]:
        known = {own.shape: own.refused for own in run.shapes if own.refused is not None}
        return lambda shape: f"{100 * known[shape].mean:.2f} %" if shape in known else ""

    return {"slice": in_text} | {run.strategy: share(run) for run in study.refusing}
