"""Plant known faults in compiled kernels and see whether a test notices: ``python -m tests.mutants.planted``.

`tests.mutants` leaves kernels out, for each fault there is compiled anew. So some are written down here, of
the kinds that would be made by hand: a term left out, the wrong neighbour, a tie broken the other way.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.__main__ import copied, pytest_run

_CLUSTER = ("cluster_twins", "cluster", "cluster_balancers", "cluster_siblings", "qin_experiments")
_SHARING = ("sharing", "sharing_exact", "sharing_candidates", "dependent_jobs")
#: For the limit of time: seconds that the tests of one of them take, compiling included.
_USUAL = 60.0

_EVENTS, _FLUID = "validation/cluster/_kernels/events.py", "validation/cluster/_kernels/fluid.py"
_RULES, _LOOP = "validation/cluster/_kernels/rules.py", "validation/sharing/_kernels.py"
#: Is in both files of loops, and stays: the tests have to pass without a fault.
_SAME = "from numba import njit\n"

#: File, what stands there once, and what is put in its place.
FAULTS = (
    (_EVENTS, "if number <= s.clocks[BROADCAST]:", "if number < s.clocks[BROADCAST]:"),
    (_EVENTS, "now + 2.0 * cost", "now + cost"),
    (_EVENTS, "for _ in range(rules.rounds):", "for _ in range(1):"),
    (_EVENTS, "s.jobs[last].place = s.jobs[job].place", "s.jobs[last].place = s.counts[ACTIVE]"),
    (_EVENTS, "s.jobs[job].thaw = now + delay", "s.jobs[job].thaw = now"),
    (_EVENTS, "if s.loads[node].tasks == 0 and", "if s.loads[node].tasks <= 1 and"),
    (_FLUID, "return (load - ram) / load if", "return (load - ram) / ram if"),
    (_FLUID, "sync = s.sync * pace * dt if last - first > 1 else 0.0", "sync = s.sync * pace * dt"),
    (_FLUID, "s.loads[node].io = io + lack * faults", "s.loads[node].io = io"),
    (_FLUID, "io_rate * access * access + faults", "io_rate * access + faults"),
    (_FLUID, "at_cpu = max(s.loads[node].cpu - s.tasks[task].at_cpu, 0.0)", "at_cpu = s.loads[node].cpu"),
    (_FLUID, "        slowest += s.sync\n", ""),
    (_RULES, "s.remote_cost + s.jobs[job].initial * _per_megabyte(s, here, there)", "s.remote_cost"),
    (
        _RULES,
        "return s.seen[one].tasks < s.seen[other].tasks",
        "return s.seen[one].tasks <= s.seen[other].tasks",
    ),
    (_RULES, "and there > mean:", "and there >= mean:"),
    (_LOOP, "(jobs < best_jobs or (jobs == best_jobs", "(jobs <= best_jobs or (jobs == best_jobs"),
    (_LOOP, "now + max(least - clock, 0.0) * left", "now + max(least - clock, 0.0) * (left + 1)"),
    (
        _LOOP,
        "ratio /= state.io_time[before - 1, job.column]",
        "ratio /= state.cpu_time[before - 1, job.column]",
    ),
    (
        _LOOP,
        "int(state.picks[counters.picked] * left), left - 1",
        "int(state.picks[counters.picked] * left), 0",
    ),
    (_LOOP, "(now - station.seen) / present\n", "(now - station.seen) / (present + 1)\n"),
)


def main() -> int:
    """Plant one after the other; 1 if one is not noticed."""
    missed = 0
    with tempfile.TemporaryDirectory() as top:
        folder = copied(Path(top) / "copy")
        for file, old, new in ((_EVENTS, _SAME, _SAME), (_LOOP, _SAME, _SAME), *FAULTS):
            path = folder / file
            before = path.read_text(encoding="utf-8")
            if before.count(old) != 1:
                raise SystemExit(f"{file}: {old!r} stands there {before.count(old)} times, not once")
            began = time.monotonic()
            path.write_text(before.replace(old, new), encoding="utf-8")
            names = _SHARING if file == _LOOP else _CLUSTER
            outcome = pytest_run(folder, [f"tests/validation/test_{name}.py" for name in names], _USUAL)
            path.write_text(before, encoding="utf-8")
            # numba looks only at the file of the outermost loop, not at those that it draws in
            for compiled in (folder / "validation").rglob("*.nb[ic]"):
                compiled.unlink()
            if old == _SAME and outcome != "survived":
                raise SystemExit(f"the tests of {file} fail without a fault")
            missed += old != _SAME and outcome == "survived"
            print(f"{outcome}, {time.monotonic() - began:.0f} s: {file}: {old.strip()}", flush=True)
    print(f"{len(FAULTS) - missed} of {len(FAULTS)} noticed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
