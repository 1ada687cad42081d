"""The same jobs written as the logs of every batch system that is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

#: Second of the epoch at which the first of the jobs may be submitted.
ORIGIN = 1_709_280_000  # 2024-03-01 08:00 UTC

Jobs = Mapping[str, np.ndarray]


def some_jobs(count: int, rng: np.random.Generator, *, nodes: bool = False) -> Jobs:
    """Jobs of whole seconds, in order of submission, the first at 0; sizes are multiples of 4."""
    gaps = rng.exponential(90.0, count - 1).round()
    return {
        "job": np.arange(101, 101 + count),
        "submit": np.concatenate([[0.0], np.cumsum(gaps)]),
        "wait": rng.exponential(200.0, count).round(),
        "run": rng.gamma(0.6, 1500.0, count).round() + 1.0,
        "processors": 4 * rng.integers(1, 9, count),
        "status": np.where(rng.random(count) < 0.9, 1, 0),
    }


def _rows(jobs: Jobs) -> list[dict[str, int]]:
    """Plain numbers, a dict for each job, with absolute times."""
    found = []
    for i in range(len(jobs["submit"])):
        submit = ORIGIN + int(jobs["submit"][i])
        start = submit + int(jobs["wait"][i])
        found.append(
            {
                "job": int(jobs["job"][i]),
                "submit": submit,
                "start": start,
                "end": start + int(jobs["run"][i]),
                "size": int(jobs["processors"][i]),
                "status": int(jobs["status"][i]),
            }
        )
    return found


def iso(seconds: float) -> str:
    """A time as Slurm writes it, on a clock that is UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def sacct(jobs: Jobs) -> str:
    lines = ["JobID|JobName|User|Submit|Start|End|State|NCPUS|NNodes"]
    for row in _rows(jobs):
        times = "|".join(iso(row[name]) for name in ("submit", "start", "end"))
        state = "COMPLETED" if row["status"] else "FAILED"
        lines.append(f"{row['job']}|run|ann|{times}|{state}|{row['size']}|{row['size'] // 4}")
        lines.append(f"{row['job']}.batch|batch||{times}|{state}|4|1")
    return "\n".join(lines) + "\n"


def pbs(jobs: Jobs) -> str:
    lines = []
    for row in _rows(jobs):
        when = datetime.fromtimestamp(row["end"], UTC).strftime("%m/%d/%Y %H:%M:%S")
        hosts = "+".join(f"n{k}/0*4" for k in range(row["size"] // 4))
        lines.append(
            f"{when};E;{row['job']}.pbs;user=ann group=g queue=batch ctime={row['submit']} "
            f"qtime={row['submit']} etime={row['submit']} start={row['start']} exec_host={hosts} "
            f"Resource_List.ncpus=1 end={row['end']} Exit_status={1 - row['status']} "
            f"resources_used.walltime=00:00:00"
        )
    return "\n".join(lines) + "\n"


def lsf(jobs: Jobs) -> str:
    lines = []
    for row in _rows(jobs):
        hosts = " ".join(f'"4*n{k}"' for k in range(row["size"] // 4))
        lines.append(
            f'"JOB_FINISH" "10.1" {row["end"]} {row["job"]} 500 33554450 {row["size"]} '
            f'{row["submit"]} 0 0 {row["start"]} "ann" "batch" "" "" "" "login" "dir" "" "" "" '
            f'"job" 0 {row["size"] // 4} {hosts} {64 if row["status"] else 32} 60.0 '
            f'"run" "echo ""a b""" 0.1 0.2'
        )
    return "\n".join(lines) + "\n"


def sge(jobs: Jobs, scale: int = 1) -> str:
    lines = ["# Version: 8.1.9"]
    for row in _rows(jobs):
        f = ["0"] * 45
        f[0], f[1], f[2], f[3], f[4] = "batch", "n1", "users", "ann", "run"
        f[5], f[6] = str(row["job"]), "sge"
        for at, name in ((8, "submit"), (9, "start"), (10, "end")):
            f[at] = str(row[name] * scale)
        f[12], f[31], f[32], f[33] = str(1 - row["status"]), "NONE", "defaultdepartment", "mpi"
        f[34], f[39], f[41] = str(row["size"]), "-pe mpi 4", "NONE"
        lines.append(":".join(f))
    return "\n".join(lines) + "\n"


def batsim(jobs: Jobs) -> str:
    """Without waits: a workload has none."""
    rows = _rows(jobs)
    found = [
        {
            "id": row["job"],
            "subtime": row["submit"] - ORIGIN,
            "res": row["size"],
            "profile": str(row["end"] - row["start"]),
        }
        for row in rows
    ]
    for row, job in zip(rows, found, strict=True):
        if not row["status"]:  # ended by its limit
            job["profile"], job["walltime"] = "long", row["end"] - row["start"]
    profiles = {
        job["profile"]: {"type": "DelayProfile", "delay": float(job["profile"])}
        for job in found
        if job["profile"] != "long"
    } | {"long": {"type": "delay", "delay": 1e9}}
    return json.dumps({"nb_res": 64, "jobs": found, "profiles": profiles}, indent=1)


def batsim_csv(jobs: Jobs) -> str:
    lines = [
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
        "requested_time,success,final_state,starting_time,execution_time,finish_time,"
        "waiting_time,turnaround_time,stretch,allocated_resources"
    ]
    for row in _rows(jobs):
        submit, start, end = (row[name] - ORIGIN for name in ("submit", "start", "end"))
        state = "COMPLETED_SUCCESSFULLY" if row["status"] else "COMPLETED_FAILED"
        lines.append(
            f"{row['job']},w0,p,{submit},{row['size']},-1,{row['status']},{state},{start},"
            f"{end - start},{end},{start - submit},{end - submit},1,0-{row['size'] - 1}"
        )
    return "\n".join(lines) + "\n"


#: Names of columns for `csv_table`.
COLUMNS = {
    "job": "Id",
    "submit": "Created",
    "start": "Began",
    "end": "Ended",
    "cores": "CPUs",
    "status": "Outcome",
}


def csv_table(jobs: Jobs) -> str:
    lines = ["Ended;Id;Created;Began;CPUs;Outcome;Note"]
    for row in _rows(jobs):
        end, submit, start = (iso(row[n]).replace("T", " ") for n in ("end", "submit", "start"))
        outcome = "done" if row["status"] else "Failed"
        lines.append(f'{end};{row["job"]};{submit};{start};{row["size"]};{outcome};"a; b"')
    return "\n".join(lines) + "\n"


def swf(jobs: Jobs) -> str:
    lines = [f"; UnixStartTime: {ORIGIN}"]
    for row in _rows(jobs):
        submit, wait, run = (row["submit"] - ORIGIN, row["start"] - row["submit"], row["end"] - row["start"])
        lines.append(
            f"{row['job']} {submit} {wait} {run} {row['size']} -1 -1 -1 -1 -1 {row['status']} "
            f"-1 -1 -1 -1 -1 -1 -1"
        )
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[Jobs], str]] = {
    "swf": swf,
    "sacct": sacct,
    "pbs": pbs,
    "lsf": lsf,
    "sge": sge,
    "batsim": batsim,
    "batsim-csv": batsim_csv,
    "csv": csv_table,
}
#: What must be said to read each of them.
SAID: dict[str, dict[str, object]] = {
    name: {} if name in ("swf", "sge") else {"unit": "cores"} for name in WRITERS
} | {"csv": {"columns": COLUMNS}}


def written(folder: Path, name: str, jobs: Jobs) -> Path:
    """A file of this format."""
    file = folder / f"{name}.log"
    file.write_text(WRITERS[name](jobs), encoding="utf-8")
    return file
