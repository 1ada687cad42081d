"""The histories of public logs on which descriptions of a log are tuned, and those that judge them.

The split was committed before any description was written: in alphabetical order of the archive's names
every second log is for tuning, from the first. A log, its halves and its quarters, and whatever was cut
of it, stand on the same side.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qmodels.io import JobLog, read_swf
from tests.conftest import SHARED

#: Names of files by what a log is called.
TUNED_ON = {
    "CEA Curie": "CEA-Curie-2011-2.1-cln-months-0-6",
    "KTH SP2": "KTH-SP2-1996-2.1-cln",
    "SDSC Paragon": "SDSC-Par-1996-3.1-cln",
    "SDSC Paragon Q4": "derived_SDSC-Par-1996Q4-batch-completed",
}
JUDGED_ON = {
    "HPC2N": "HPC2N-2002-2.1-cln-months-0-35",
    "SDSC BLUE": "SDSC-BLUE-2000-4.2-cln-months-0-26",
    "Lublin model": "lublin_256",
}
#: Parts into which a log is cut; a part has this many jobs at least.
PARTS, FEWEST = (1, 2, 4), 2000


def histories(logs: dict[str, str]) -> Iterator[tuple[str, JobLog]]:
    """Each log with its halves and quarters, jobs of known work alone."""
    for name, file in logs.items():
        log = read_swf(SHARED / "swf" / f"{file}.swf.gz").with_work
        for parts in PARTS:
            if len(log.jobs) < FEWEST * parts:
                continue
            ends = np.arange(parts + 1) * len(log.jobs) // parts
            for k in range(parts):
                label = name if parts == 1 else f"{name}, part {k + 1} of {parts}"
                jobs = log.jobs.iloc[ends[k] : ends[k + 1]].reset_index(drop=True)
                yield label, JobLog(log.path, jobs.drop(columns=["size", "work"]), log.header)
