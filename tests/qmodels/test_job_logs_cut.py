"""Records of job logs that were cut short, joined or ended oddly: no job gets another's times.

A log whose lines lost a stretch across a line end, so that a record goes on with the end of the
next, may look sound: what share of those is noticed is counted apart.
"""

from __future__ import annotations

import secrets
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from qmodels.io import read_jobs
from tests.batch_logs import some_jobs
from tests.cut_logs import LOGS, SAID_OF, Wrong, damaged, lost_block, outcome


def cut_and_joined(folder: Path, name: str, rounds: int, seed: int, accident=damaged) -> Counter:
    """Read copies of a log with accidents; `seed` makes each of them again."""
    rng = np.random.default_rng([seed, list(LOGS).index(name)])
    file, said = folder / "jobs.log", SAID_OF[name]
    seen: Counter[str] = Counter()
    for number in range(rounds):
        if number % 50 == 0:
            text = LOGS[name](some_jobs(8, rng)).encode()
            file.write_bytes(text)
            sound = read_jobs(file, **said)
            assert len(sound.jobs) == 8
        file.write_bytes(accident(text, rng))
        try:
            seen[outcome(file, {"format": name} | said, sound)] += 1
        except Wrong as wrong:
            if accident is damaged:
                wrong.add_note(f"copy {number} of {name} logs of seed {seed}")
                raise
            seen["wrong"] += 1
    return seen


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOGS)
def test_records_that_run_together_never_give_a_job_the_times_of_another(tmp_path, name):
    seen = cut_and_joined(tmp_path, name, 150, seed=20261123)
    assert sum(seen.values()) == 150
    assert "wrong" not in seen


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_a_hundred_thousand_cuts_and_joins_never_mix_two_jobs(tmp_path, name, record_property):
    """Some 9,100 of each kind of log; and 5,000 lost blocks, of which some cannot be noticed."""
    seed = secrets.randbits(32)
    record_property("seed", seed)
    copies = -(-100_000 // len(LOGS))
    for what, count in cut_and_joined(tmp_path, name, copies, seed).items():
        record_property(what, count)
    lost = cut_and_joined(tmp_path, name, 5000, seed, accident=lost_block)
    record_property("lost blocks", lost.total())
    record_property("lost blocks not noticed", lost["wrong"])
