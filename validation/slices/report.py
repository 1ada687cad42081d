"""The report on slices: sentences, one page, tables and figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from qmodels.io.outputs import output_folder
from qmodels.pages.report import PAGE, Picture, fill_report
from qmodels.words import in_words
from validation.analysis.estimates import Estimate
from validation.slices.pod import in_text
from validation.slices.results import SliceSimulation
from validation.slices.scenario import pod_in_words
from validation.slices.study import SliceStudy, Ways

#: Share of the time below which it is not said that a head fits by count alone.
_RARELY = 0.005


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
    return f"{found.mean:.2g} ± {found.half_width:.1g} {study.unit}"


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


def write_slice_report(study: SliceStudy, folder: Path, *, command: str) -> Path:
    """Write report.html, slices.csv and the figures into `folder`.

    Raises
    ------
    ModelError
        If `folder` cannot be written to.
    """
    from validation.slices import plotting

    with output_folder(folder) as made:
        fill_report(
            made,
            Path(__file__).parent / "templates" / "slices.html.j2",
            pictures=[
                Picture(
                    "utilisation",
                    plotting.largest_utilisation(study).get_figure(),
                    _utilisation_words(study),
                ),
                Picture("waits", plotting.waits_by_slice(study).get_figure(), _waits_words(study)),
                Picture(
                    "layouts",
                    plotting.layouts(study),
                    panels=tuple(
                        (plotting.layout_panel(study, name), _layout_words(study, name))
                        for name in study.strategies
                    ),
                ),
            ],
            tables={"slices.csv": study.to_frame()},
            title="Slices of a pod",
            subtitle=f"{pod_in_words(study.pod)}; {study.jobs}; load {study.load:.3g}",
            findings=findings(study),
            gravest=study.notes,
            gravest_title="What to know of the jobs",
            command=command,
            study=study,
            time=lambda found: _time(study, found),
            in_text=in_text,
        )
    return folder / PAGE
