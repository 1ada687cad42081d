"""Damaged traces, folders and Darshan logs: a sound table or a typed error, in little memory."""

from __future__ import annotations

import gzip
import importlib.util
import json
import secrets
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.runs import read_runs
from qmodels.io.traced_runs import read_traced_runs
from qmodels.io.traces import read_trace
from qmodels.programs.traces import Trace
from qmodels.recording.timeline import write_timeline
from tests.mutations import refusal, survived

#: Hardly any damage goes unnoticed.
STRICT = {"runs", "packed", "extra-p", "extra-p file", "extra-p text"}


def event(k, **changes):
    given = {
        "id": str(k),
        "name": "read",
        "cat": "POSIX",
        "pid": "7",
        "tid": "7",
        "ts": str(10**15 + 10**5 * k),
        "dur": "50000",
        "ph": "X",
        "args": {"hhash": 2**63 + 7, "ret": "4096"},
    }
    return given | changes


def dftracer():
    lines = ["[", json.dumps({"name": "HH", "ph": "M", "pid": "7", "args": {"hhash": 1}})]
    lines += [json.dumps(event(k)) for k in range(6)]
    lines.append(json.dumps(event(7, name="TorchFramework.compute", cat="ai_framework")))
    return "\n".join(lines).encode()


def chrome():
    pairs = [event(k, ph="BE"[k % 2], name="write", ts=1000.5 * k) for k in range(8)]
    return json.dumps({"traceEvents": pairs, "displayTimeUnit": "ms"}, indent=1).encode()


def timeline(p=2):
    rows = [f"{r},{t},{t + 2 / p},write,100" for r in range(p) for t in (0, 20 / p, 40 / p)]
    return "\n".join(["rank,start,end,kind,bytes", *rows]).encode()


def extra_p():
    lines = [
        json.dumps(
            {
                "params": {"p": p, "d": d},
                "callpath": f"phase1->{kind}",
                "metric": "time",
                "value": [3.0 / p, 3.1 / p],
            }
        )
        for p, d in ((1, 1), (2, 1), (4, 2))
        for kind in ("io", "cpu")
    ]
    return "\n".join(lines).encode()


def extra_p_file():
    points = [{"point": [p, d], "values": [3.0 / p]} for p, d in ((1, 1), (2, 1), (4, 2))]
    given = {"parameters": ["p", "d"], "measurements": {"phase1->io": {"time": points}}}
    return json.dumps(given, indent=1).encode()


def extra_p_text():
    return b"""PARAMETER p
PARAMETER d
POINTS (1 1) (2 1) (4 2)
METRIC time
REGION phase1->io
DATA 3.0 3.1
DATA 1.5
DATA .75
"""


def recorded():
    """What `qmodels record` leaves: two processes that read, compute and write."""
    start = np.array([0.0, 0.5, 4.0, 0.0, 0.25, 4.5])
    end = np.array([0.5, 4.0, 5.0, 0.25, 4.5, 5.0])
    kind = np.array(["read", "compute", "write"] * 2)
    moved = np.array([10**9, 0, 10**8] * 2)
    trace = Trace(np.repeat([0, 1], 3), start, end, kind, 2, 5.0, moved, "./solver")
    with tempfile.TemporaryDirectory() as folder:
        write_timeline(trace, Path(folder) / "run.csv")
        return (Path(folder) / "run.csv").read_bytes()


def table_of_runs():
    rows = [
        f"solver,{phase},{kind},{p},{d},{3.0 / p},{repeat}"
        for p, d in ((1, 1), (2, 1), (4, 2))
        for phase in (1, 2)
        for kind in ("io", "cpu")
        for repeat in (1, 2)
    ]
    return "\n".join(["program,phase,kind,p,d,seconds,repeat", *rows]).encode()


CONTENTS = {
    "dftracer": ("run.pfw", dftracer()),
    "chrome pairs": ("run.json", chrome()),
    "timeline": ("run.csv", timeline()),
    "recorded": ("run.csv", recorded()),
    "runs": ("runs.csv", table_of_runs()),
    "packed": ("run.pfw.gz", gzip.compress(dftracer(), mtime=0)),
    "extra-p": ("runs.jsonl", extra_p()),
    "extra-p file": ("runs.json", extra_p_file()),
    "extra-p text": ("runs.txt", extra_p_text()),
    "folder": ("solver.p2d1.csv", timeline()),
}


def outcome(kind, file):
    """Read a damaged file: whatever is given must be sound, and an error say where it is."""
    try:
        if kind.startswith("extra-p") or kind == "runs":
            frame = read_runs(file).frame
        elif kind == "folder":
            (found,) = read_traced_runs(file.parent)
            frame = found.table.frame
        else:
            trace = read_trace(file)
            assert np.isfinite(trace.end).all()
            assert (trace.end >= trace.start).all()
            assert trace.end.max(initial=0.0) <= trace.duration
            assert trace.rank.max(initial=0) < trace.processes
            return "read"
    except TraceFormatError as error:
        return refusal(error, file, *([file.parent] if kind == "folder" else []))
    except ModelError:
        if kind == "folder":  # of several files together
            return "refused"
        raise
    assert np.isfinite(frame["seconds"]).all()
    assert (frame["seconds"] > 0).all()
    return "read"


def campaign(folder, kind, rounds, seed):
    """Read mutated files; `seed` makes each of them again."""
    name, content = CONTENTS[kind]
    for p in (1, 4) if kind == "folder" else ():
        (folder / f"solver.p{p}d1.csv").write_bytes(timeline(p))
    rng, note = np.random.default_rng(seed), f"{kind} of seed {seed}"
    seen = survived(folder / name, content, partial(outcome, kind), rounds, rng, note)
    assert rounds - seen["read"] > rounds / 20, seen
    if kind not in STRICT:
        assert seen["read"] > rounds / 100, seen
    return seen


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("kind", sorted(CONTENTS))
def test_mutated_traces_give_a_trace_or_a_typed_error(tmp_path, kind):
    campaign(tmp_path, kind, 30 if kind == "folder" else 100, seed=20261122)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(CONTENTS))
def test_a_hundred_thousand_mutated_traces_give_a_trace_or_a_typed_error(tmp_path, kind, record_property):
    """Fresh ones each time; the seed is on record, and stands in the note of an error."""
    seed = secrets.randbits(32)
    record_property("seed", seed)
    for what, count in campaign(tmp_path, kind, 100_000, seed).items():
        record_property(what, count)


@pytest.mark.thorough
@pytest.mark.skipif(
    importlib.util.find_spec("darshan") is None, reason="the package darshan is not installed"
)
def test_mutated_layouts_in_darshan_logs_are_read_or_refused(tmp_path, maker):
    """Damage before it is packed, so that the library unpacks what is strange."""
    lib = maker.library()
    rng = np.random.default_rng(4)
    whole = maker.struct.pack
    for number in range(12):
        log = tmp_path / f"{number}.darshan"

        def damaged(form, *values):
            values = list(values)
            if "5q" in form and rng.random() < 0.9:
                at = int(rng.integers(len(values)))
                values[at] = int(rng.choice([-1, 0, 2**62, -(2**62), 10**6, 7]))
            return whole(form, *values)

        maker.struct.pack, before = damaged, maker.struct.pack
        try:
            maker.write_log(
                lib,
                log,
                command="/x/s",
                seconds=5.0,
                targets=[[1, 2, 3]],
                operations=[[("write", 1.0, 2.0, 10**9)]],
            )
        finally:
            maker.struct.pack = before
        try:
            trace = read_trace(log)
        except TraceFormatError:
            continue
        targets = trace.origin.targets
        assert targets is None or 0 <= targets.distinct <= 3
