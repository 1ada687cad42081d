"""Plant known faults in compiled kernels and see whether a test notices: ``python -m tests.mutants.planted``.

`tests.mutants` leaves kernels out, for each fault there is compiled anew. So some are written down here, of
the kinds that would be made by hand: a term left out, the wrong neighbour, a tie broken the other way.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.__main__ import NOTICED, copied, pytest_run

#: For the limit of time: seconds that the tests of one of them take, compiling included.
_USUAL = 60.0

_EVENTS, _FLUID = "validation/cluster/_kernels/events.py", "validation/cluster/_kernels/fluid.py"
_RULES, _LOOP = "validation/cluster/_kernels/rules.py", "validation/sharing/_kernels.py"
#: Names of tests, and the faults that they have to notice: a file, what stands there once, and what is put
#: in its place.
PLANTED = (
    (
        ("cluster_twins", "cluster", "cluster_balancers", "cluster_siblings", "qin_experiments"),
        (
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
            (
                _FLUID,
                "at_cpu = max(s.loads[node].cpu - s.tasks[task].at_cpu, 0.0)",
                "at_cpu = s.loads[node].cpu",
            ),
            (_FLUID, "        slowest += s.sync\n", ""),
            (_RULES, "s.remote_cost + s.jobs[job].initial * _per_megabyte(s, here, there)", "s.remote_cost"),
            (
                _RULES,
                "return s.seen[one].tasks < s.seen[other].tasks",
                "return s.seen[one].tasks <= s.seen[other].tasks",
            ),
            (_RULES, "and there > mean:", "and there >= mean:"),
        ),
    ),
    (
        ("sharing", "sharing_exact", "sharing_candidates", "dependent_jobs"),
        (
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
        ),
    ),
)


def _outcome(folder: Path, names: tuple[str, ...]) -> str:
    """Run tests of the simulators in a copy, all kernels compiled anew.

    numba looks only at the file of the outermost loop, not at those that it draws in.
    """
    for compiled in (folder / "validation").rglob("*.nb[ic]"):
        compiled.unlink()
    return pytest_run(folder, [f"tests/validation/test_{name}.py" for name in names], _USUAL)


def main() -> int:
    """Plant one after the other; 1 if one is not noticed."""
    noticed = []
    with tempfile.TemporaryDirectory() as top:
        folder = copied(Path(top) / "copy")
        for names, faults in PLANTED:
            if _outcome(folder, names) != "survived":
                raise SystemExit(f"tests of {names[0]} fail without a fault")
            for file, old, new in faults:
                path = folder / file
                before = path.read_text(encoding="utf-8")
                if before.count(old) != 1:
                    raise SystemExit(f"{file}: {old!r} stands there {before.count(old)} times, not once")
                began = time.monotonic()
                path.write_text(before.replace(old, new), encoding="utf-8")
                outcome = _outcome(folder, names)
                path.write_text(before, encoding="utf-8")
                noticed.append(outcome in NOTICED)
                print(f"{outcome}, {time.monotonic() - began:.0f} s: {file}: {old.strip()}", flush=True)
    print(f"{sum(noticed)} of {len(noticed)} noticed")
    return int(not all(noticed))


if __name__ == "__main__":
    sys.exit(main())
