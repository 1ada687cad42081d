"""Damaged traces, folders and Darshan logs: a sound table or a typed error, in little memory."""

from __future__ import annotations

import gzip
import importlib.util
import json
import resource
import secrets

import numpy as np
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.runs import read_runs
from qmodels.io.traced_runs import read_traced_runs
from qmodels.io.traces import read_trace
from tests.qmodels.test_swf import mutated, processor_seconds

STRICT = {"packed", "extra-p", "extra-p file", "extra-p text"}  #: hardly any damage goes unnoticed


def event(k, **changes):
    given = {"id": str(k), "name": "read", "cat": "POSIX", "pid": "7", "tid": "7",
             "ts": str(10**15 + 10**5 * k), "dur": "50000", "ph": "X",
             "args": {"hhash": 2**63 + 7, "ret": "4096"}}  # fmt: skip
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
        json.dumps({"params": {"p": p, "d": d}, "callpath": f"phase1->{kind}", "metric": "time",
                    "value": [3.0 / p, 3.1 / p]})
        for p, d in ((1, 1), (2, 1), (4, 2)) for kind in ("io", "cpu")
    ]  # fmt: skip
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


CONTENTS = {
    "dftracer": ("run.pfw", dftracer()), "chrome pairs": ("run.json", chrome()),
    "timeline": ("run.csv", timeline()),
    "packed": ("run.pfw.gz", gzip.compress(dftracer(), mtime=0)),
    "extra-p": ("runs.jsonl", extra_p()),
    "extra-p file": ("runs.json", extra_p_file()), "extra-p text": ("runs.txt", extra_p_text()),
    "folder": ("solver.p2d1.csv", timeline()),
}  # fmt: skip


def outcome(kind, file):
    """Read a damaged file: whatever is given must be sound, and an error say where it is."""
    try:
        if kind.startswith("extra-p"):
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
    except TraceFormatError:
        return "refused"
    except ModelError:
        if kind == "folder":  # of several files together
            return "refused"
        raise
    assert np.isfinite(frame["seconds"]).all()
    assert (frame["seconds"] > 0).all()
    return "read"


def campaign(folder, kind, rounds, seed):
    """Read mutated files; `seed` makes each of them again."""
    rng = np.random.default_rng(seed)
    name, content = CONTENTS[kind]
    for p in (1, 4) if kind == "folder" else ():
        (folder / f"solver.p{p}d1.csv").write_bytes(timeline(p))
    file = folder / name
    seen = {"read": 0, "refused": 0}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(rounds):
        file.write_bytes(mutated(content, rng))
        try:
            with processor_seconds(20.0):
                seen[outcome(kind, file)] += 1
        except Exception as error:
            error.add_note(f"{kind} {number} of seed {seed}")
            raise
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000, f"{grown} kB"  # of files of a kilobyte
    assert seen["refused"] > rounds / 20, seen
    if kind not in STRICT:
        assert seen["read"] > rounds / 100, seen
    return seen


@pytest.mark.parametrize("kind", sorted(CONTENTS))
def test_mutated_traces_give_a_trace_or_a_typed_error(tmp_path, kind):
    campaign(tmp_path, kind, 30 if kind == "folder" else 100, seed=20261122)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(CONTENTS))
def test_a_hundred_thousand_mutated_traces_give_a_trace_or_a_typed_error(tmp_path, kind):
    """Fresh ones each time; the seed is printed, and stands in the note of an error."""
    seed = secrets.randbits(32)
    rounds = 100_000
    print(f"seed {seed}:", campaign(tmp_path, kind, rounds, seed))


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
            maker.write_log(lib, log, command="/x/s", seconds=5.0, targets=[[1, 2, 3]],
                            operations=[[("write", 1.0, 2.0, 10**9)]])  # fmt: skip
        finally:
            maker.struct.pack = before
        try:
            trace = read_trace(log)
        except TraceFormatError:
            continue
        targets = trace.origin.targets
        assert targets is None or 0 <= targets.distinct <= 3
