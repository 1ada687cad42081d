"""All rows of the comparison, several labs at a time, each row kept in a file as soon as it is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Final

from qmodels.progress import Progress, no_progress
from validation.slurm.rows import Measurement, Row, measure

#: Seeds of each kind of row.
SEEDS: Final = (1, 2, 3)


def _rows(seed: int) -> Iterable[Row]:
    """One row of each kind, those that take longest first."""
    yield Row("TS(8,1;M=2)", 0.7, 12.0, 1.5, seed)
    yield Row("SP(2,1)", 0.5, 2.0, 2.0, seed)
    yield Row("SP(4,1)", 0.5, 3.0, 1.5, seed, disks=1, disk_discipline="ps", io_share=0.3, bursts=6)
    yield Row("backfill", 0.7, 4.0, 1.5, seed, nodes=16)
    yield Row("FCFS", 0.6, 4.0, 1.0, seed, nodes=16)
    yield Row("SP(4,1)", 0.7, 3.0, 1.5, seed, disks=1, io_share=0.3, bursts=6)
    yield Row("backfill", 0.9, 4.0, 1.0, seed, nodes=16)
    yield Row("SP(4,1)", 0.7, 3.0, 2.0, seed)
    yield Row("FCFS with priorities", 0.6, 4.0, 1.0, seed, nodes=16)
    yield Row("SP(4,1)", 0.9, 3.0, 1.0, seed)
    yield Row("SP(8,2)", 0.6, 3.0, 1.5, seed, disks=2, io_share=0.3, bursts=6)
    yield Row("SP(8,1)", 0.8, 3.0, 2.0, seed)
    yield Row("SP(4,1)", 0.6, 3.0, 1.5, seed, disks=1, io_share=0.2, bursts=6)


#: Rows on record, the kinds of a seed together.
ROWS: Final = tuple(row for seed in SEEDS for row in _rows(seed))


def measure_all(
    folder: Path, rows: Sequence[Row] = ROWS, *, at_a_time: int = 4, progress: Progress = no_progress
) -> list[Measurement]:
    """Return rows as labs of their own measure them, or as their files have them.

    Parameters
    ----------
    folder : path_like
        Of a JSON file for each row.
    rows : sequence of Row
        By default those on record.
    at_a_time : int
        Labs that run side by side: jobs mostly wait.
    progress : callable
        Called as ``progress("rows", done, rows)``.

    Returns
    -------
    list of Measurement
        In the order of the rows.

    Raises
    ------
    ModelError
        If Slurm is not installed, or jobs of a row do not end; rows measured so far are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(at_a_time) as pool:
        tasks = [pool.submit(_measured, row, folder) for row in rows]
        for done, task in enumerate(as_completed(tasks), 1):
            if task.exception() is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            progress("rows", done, len(rows))
    return [task.result() for task in tasks]


def _measured(row: Row, folder: Path) -> Measurement:
    path = folder / f"{row.name.replace(' ', '-')}.json"
    if not path.exists():
        measure(row).save(path)
    return Measurement.read(path)
