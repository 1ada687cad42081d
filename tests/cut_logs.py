"""Logs that were cut short, joined or ended oddly, and what a reader made of their jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from qmodels.errors import TraceFormatError
from qmodels.io import JobLog, read_jobs
from tests.batch_logs import SAID, WRITERS, Jobs, iso
from tests.mutations import SECONDS, processor_seconds, refusal

_FIRST_FIELD = re.compile(rb"\s*[^\s|,;:]*[\s|,;:]*")

#: Lines between two accidents, so that a record between them is whole; none has more than four.
_APART = 6

Times = tuple[float, float, float]  #: submitted on the log's own clock, waited, ran

#: What may stand where a newline should, as bad transfers and power failures leave it.
ODD_ENDS = (
    b"",
    b"\r",
    b"\v",
    b"\f",
    b"\x1c",
    "\x85".encode(),
    "\u2028".encode(),
    "\u2029".encode(),
    b"\r\r\n",
    b" ",
    b"\t",
    b"\0" * 40,
    b"\n\n",
)
#: Accidents to a record: it loses its end, its line end, both, or its beginning.
ACCIDENTS = ("cut", "joined", "cut and joined", "begun late")


def sacct_with_names(jobs: Jobs) -> str:
    """Rows of sacct with bars in the names of jobs and command lines over several lines."""
    names = ("run", "job_0||0002|", "a|b", "x_1", "run|7")
    lines = ["JobID|JobName|User|Submit|Start|End|State|NCPUS|NNodes|SubmitLine"]
    for i in range(len(jobs["submit"])):
        submit = 1_709_280_000 + int(jobs["submit"][i])
        start = submit + int(jobs["wait"][i])
        times = "|".join(iso(each) for each in (submit, start, start + int(jobs["run"][i])))
        said = "sbatch <<EOF\nsrun a | b\n2\nEOF" if i % 4 == 0 else "sbatch x | tee 1"
        row = f"{jobs['job'][i]}|{names[i % 5]}|ann|{times}|COMPLETED|{jobs['processors'][i]}|1"
        lines.append(f"{row}|{said}")
    return "\n".join(lines) + "\n"


def torque(jobs: Jobs) -> str:
    """Accounting of Torque: every event of a job, the keys in the order in which it writes them."""
    lines = []
    for row in WRITERS["pbs"](jobs).splitlines():
        stamp, _, name, message = row.split(";", 3)
        of = dict(word.split("=", 1) for word in message.split(" "))
        first = f"user=ann group=g jobname=STDIN queue=batch ctime={of['ctime']} "
        first += f"qtime={of['qtime']} etime={of['etime']} start={of['start']} owner=ann@login "
        first += f"exec_host={of['exec_host']} Resource_List.nodes=1:ppn=4"
        lines.append(f"{stamp};Q;{name};queue=batch")
        lines.append(f"{stamp};S;{name};{first}")
        lines.append(
            f"{stamp};E;{name};{first} session=33 end={of['end']} Exit_status={of['Exit_status']} "
            f"resources_used.cput=00:00:10 resources_used.walltime=00:10:00"
        )
    return "\n".join(lines) + "\n"


def lsf_with_scripts(jobs: Jobs) -> str:
    """lsb.acct whose every third command goes over several lines."""
    records = WRITERS["lsf"](jobs).splitlines()
    said = '"for i in ""a b""; do\n  echo $i 1 2\ndone"'
    return "".join(
        (each.replace('"echo ""a b"""', said) if i % 3 == 0 else each) + "\n"
        for i, each in enumerate(records)
    )


LOGS: Mapping[str, Callable[[Jobs], str]] = WRITERS | {
    "sacct with names": sacct_with_names,
    "torque": torque,
    "lsf with scripts": lsf_with_scripts,
}
SAID_OF: Mapping[str, dict[str, object]] = SAID | {
    "sacct with names": {"format": "sacct", "unit": "cores"},
    "torque": {"format": "pbs", "unit": "cores"},
    "lsf with scripts": {"format": "lsf", "unit": "cores"},
}


def damaged(text: bytes, rng: np.random.Generator) -> bytes:
    """A log after one to three such accidents, to records that are no neighbours.

    Of a record that is cut more than its first field stays, a semicolon or a number: with less
    of it before the next record nothing tells that it was there.
    """
    records = text.split(b"\n")[:-1]
    ends = [b"\n"] * len(records)
    places = np.arange(int(rng.integers(_APART)), len(records), _APART)
    several = min(int(rng.integers(1, 4)), places.size)
    for at in rng.choice(places, several, replace=False):
        kind, record = ACCIDENTS[rng.integers(len(ACCIDENTS))], records[at]
        first_field = len(_FIRST_FIELD.match(record)[0])
        place = int(rng.integers(1, len(record))) if len(record) > 1 else 1
        enough = place > first_field if kind.endswith("joined") else record[:place].strip()
        if kind.startswith("cut") and enough:
            records[at] = record[:place]
        if kind.endswith("joined"):
            ends[at] = ODD_ENDS[rng.integers(len(ODD_ENDS))]
        if kind == "begun late" and record[place:].strip():
            records[at] = record[place:]
    return b"".join(record + end for record, end in zip(records, ends, strict=True))


def lost_block(text: bytes, rng: np.random.Generator) -> bytes:
    """A log that lost a stretch in which a line ends: a record goes on with the end of the next."""
    records = text.split(b"\n")[:-1]
    at = int(rng.integers(len(records) - 1))
    head, tail = records[at], records[at + 1]
    joined = head[: rng.integers(1, max(len(head), 2))] + tail[rng.integers(max(len(tail), 1)) :]
    return b"\n".join([*records[:at], joined, *records[at + 2 :]]) + b"\n"


def times_of(log: JobLog) -> list[tuple[int, Times]]:
    """Number and times of every job; the readers of other formats let time begin with a job."""
    zero = log.unix_start_time or 0 if "Format" in log.header else 0
    rows = log.jobs[["job", "submit", "wait", "run"]].itertuples(index=False)
    return [(int(job), (zero + submit, wait, run)) for job, submit, wait, run in rows]


class Wrong(AssertionError):
    """A job got times that are not its own, or was lost without a word."""


def outcome(file: Path, said: dict[str, object], sound: JobLog) -> str:
    """What came of a damaged copy of a log that was read soundly; Wrong where a promise broke."""
    try:
        with processor_seconds(SECONDS):
            log = read_jobs(file, **said)
    except TraceFormatError as error:
        return refusal(error, file)
    own = dict(times_of(sound))
    every = set(own.values())
    found = times_of(log)
    for job, times in found:
        if own.get(job, times) != times or times not in every:
            raise Wrong(f"job {job} has {times}, not {own.get(job)}")
    if len(found) < len(own) and log.warnings == sound.warnings:
        raise Wrong(f"{len(own) - len(found)} jobs are missing, and nothing is said of it")
    if {job for job, _ in found} - set(own):
        return "read, a job under another number"
    return "read, jobs left out" if len(found) < len(own) else "read"
