"""Files and options that describe a pod and its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.io.study_file import StudyFile, StudyTable
from qmodels.io.toml_tables import Count, Positive, Table
from qmodels.units import quantity, seconds
from qmodels.words import in_words
from validation.jobs.logs import LogStreams
from validation.slices.placement import usual_strategies
from validation.slices.pod import Pod, SliceMix, as_shape, in_text
from validation.slices.study import USUAL_DISCIPLINES

#: Blocks of the pod, where nothing is said.
_BLOCKS = "4x4x4"
_LOAD = 0.5


class PodTable(Table):
    """The pod; sides as text such as "4x4x4"."""

    blocks: str = _BLOCKS
    block: str = "1x1x1"
    wrap: bool = True
    turning: bool = True


class JobTable(Table):
    """A mix at a load, or a log."""

    replaces: ClassVar = {"log": ("mix", "hold"), "mix": ("log", "processors")}

    mix: str | None = None
    load: Positive | None = None
    hold: str | float | None = None
    log: str | None = None
    processors: Count | None = None
    count: Annotated[int, Field(ge=200, le=2_000_000)] | None = None


class SliceStudyTable(StudyTable):
    """What competes, and how much to compute."""

    strategies: list[str] | None = None
    disciplines: list[str] | None = None
    replications: Annotated[int, Field(ge=2, le=10_000)] = 8


class SliceFile(StudyFile):
    """The whole file."""

    pod: PodTable = PodTable()
    jobs: JobTable = JobTable()
    study: SliceStudyTable = SliceStudyTable()


@dataclass(frozen=True)
class SlicePlan(Record):
    """A pod and its jobs, ready to be compared: what `compare_slices` takes."""

    pod: Pod
    jobs: SliceMix | LogStreams
    load: float | None  #: None for a log
    processors: int
    count: int
    unit: str
    title: str
    strategies: tuple[str, ...]
    disciplines: tuple[str, ...]
    replications: int
    seed: int
    notes: tuple[str, ...]


def slice_plan(source: Path, spec: SliceFile) -> SlicePlan:
    """The objects that the tables speak of; relative paths are taken from the folder of `source`.

    Raises
    ------
    ModelError
        If something is missing or out of its range; names the option and what to write.
    """
    pod = Pod(
        as_shape("blocks", spec.pod.blocks),
        spec.pod.wrap,
        block=as_shape("block", spec.pod.block),
        turning=spec.pod.turning,
    )
    table, study = spec.jobs, spec.study
    common: dict[str, Any] = {
        "strategies": usual_strategies(pod) if study.strategies is None else tuple(study.strategies),
        "disciplines": tuple(USUAL_DISCIPLINES if study.disciplines is None else study.disciplines),
        "replications": study.replications,
        "seed": study.seed,
    }
    if table.log is not None:
        if table.mix is not None or table.hold is not None:
            raise ModelError("a log has slices and times of its own: leave out mix and hold")
        return _of_log(pod, table, source.parent / table.log, common)
    if table.processors is not None:
        raise ModelError("processors belong to a log; slices of a mix are in chips")
    mix = SliceMix.of("halving" if table.mix is None else table.mix, pod)
    title, unit = f"mix {mix.name}", "holding times"
    if table.hold is not None:
        mean = quantity("jobs.hold", seconds, table.hold)
        if mean <= 0.0:
            raise ModelError(f"hold must be > 0, got {table.hold}")
        mix = SliceMix(mix.shapes, mix.weights, tuple(mean * m for m in mix.means), mix.name)
        title, unit = f"{title}, held for {in_words(mean)} on average", "s"
    load = _LOAD if table.load is None else table.load
    notes = ("EASY-places is simulated with exact run times as estimates.",)
    return SlicePlan(
        pod,
        mix,
        load,
        1,
        table.count or 4000,
        unit,
        title,
        notes=notes if "easy-places" in map(str.lower, common["disciplines"]) else (),
        **common,
    )


def _of_log(pod: Pod, table: JobTable, path: Path, common: dict[str, Any]) -> SlicePlan:
    """The jobs of a log, by a rule that is stated."""
    from qmodels.io.swf import read_swf

    log = read_swf(path, columns=["requested_time"])
    plain = LogStreams(log)
    jobs = plain.draw(rng=np.random.default_rng(0))
    largest = int(jobs.sizes.max())
    processors = table.processors or -(-largest // pod.chips)
    most = processors * pod.chips
    if jobs.demands is None:
        raise ModelError(f"{path}: no job has a run time; a pod needs to know how long they run")
    sizes = np.minimum(jobs.sizes, most)
    chips = {s: int(np.prod(pod.slice_of(-(-s // processors)))) for s in np.unique(sizes).tolist()}
    asked = np.array([chips[s] for s in sizes.tolist()], float)
    needed = sizes / processors
    work = float(asked @ jobs.demands)
    length = float(jobs.arrivals[-1] - jobs.arrivals[0])
    if length <= 0.0:
        raise ModelError(f"{path}: all jobs come at one moment; a load needs arrivals in time")
    own = work / (length * pod.chips)
    factor = 1.0 if table.load is None else own / table.load
    streams = LogStreams(log, jobs=table.count, arrival_factor=factor, largest=most, start="random")
    each = "a chip" if processors == 1 else f"{processors} processors a chip"
    rule = (
        f"Each job of the log asks for the least box of at least its processors ({each}), nearest "
        f"to a cube; {work / float(needed @ jobs.demands) - 1.0:.1%} of the chip time is rounding."
    )
    notes = [*streams.warnings, rule]
    if factor != 1.0:
        notes.append(f"Times between arrivals times {factor:.3g}: the log alone asks for {own:.1%}.")
    title = f"{len(jobs.sizes):,} jobs of {path.name}"
    return SlicePlan(
        pod,
        streams,
        None,
        processors,
        table.count or len(jobs.sizes),
        "s",
        title,
        notes=tuple(notes),
        **common,
    )


def pod_in_words(pod: Pod) -> str:
    """The pod for a subtitle.

    Examples
    --------
    >>> pod_in_words(Pod((4, 4, 4), block=(4, 4, 4)))
    '4x4x4 blocks of 4x4x4 chips, sides closed to rings'
    """
    block = "" if pod.block == (1, 1, 1) else f" of {in_text(pod.block)} chips"
    return f"{in_text(pod.blocks)} blocks{block}, sides {'closed to rings' if pod.wrap else 'open'}"
