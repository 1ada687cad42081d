"""Hold intervals of speedups and times to programs with steps between allotments.

``python -m tests.campaigns.steps``: truths, sizes of steps and seeds are those of
`tests/naive/steps.py`, written down before the first fit. A speedup is T(1,1) / T(p,d) of mean
times; a time is that of one run, and ``mean`` that of very many. An efficiency is a speedup over a
number that is known, so its interval holds whenever that of the speedup does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from qmodels.programs import fit_runs
from qmodels.programs.scaling import Forecast
from tests.campaigns.record import write_record
from tests.naive.steps import BASES, DEPARTURES, DESIGNS, HEIGHTS, JUDGED, NOISES, Judged, cases

LEVEL = 0.9
WHERE = ("measured", "inside", "outside")
SIZE = 2  #: cases of each base, design and noise, for every seed

Row = dict[str, Any]


def held(case: Judged) -> Iterator[Row]:
    """What the intervals of a case hold, by where the allotments lie: shares of them."""
    (fitted,) = fit_runs(case.runs).values()
    for where in WHERE:
        p, d = np.array(case.cells[where], dtype=float).T
        run, mean = (fitted.predict(p, d, LEVEL, of=of) for of in ("run", "mean"))
        gain = case.at_one / case.seconds[where]

        def share(low: Any, high: Any, truth: Any) -> float:
            return float(np.mean((low <= truth) & (truth <= high)))

        yield {
            "base": case.base,
            "design": case.design,
            "noise": case.noise,
            "where": where,
            "speedup": share(run.speedup_low, run.speedup_high, gain),
            "time": share(run.time_low, run.time_high, case.seen[where]),
            "mean": share(mean.time_low, mean.time_high, case.seconds[where]),
            "width": float(np.median(run.speedup_high / run.speedup_low)),
            "excluded": float(np.mean(_excluded(run) | _excluded(mean))),
        }


def _excluded(one: Forecast) -> Any:
    """Whether a value that is told lies outside of its own interval."""
    found = (one.speedup < one.speedup_low) | (one.speedup > one.speedup_high)
    return np.ma.filled(found | (one.time < one.time_low) | (one.time > one.time_high), False)


def rows_of(judged: Iterable[Judged], **particulars: object) -> list[Row]:
    """Rows of many cases."""
    return [particulars | row for case in judged for row in held(case)]


def said(rows: list[Row], of: str, value: object, by: str = "", group: object = "") -> Iterator[Row]:
    """Coverage of a group of cases, with its standard error: allotments of a case go together."""
    for where in WHERE:
        chosen = [row for row in rows if row["where"] == where]
        found: Row = {
            "of": of,
            "value": value,
            "by": by,
            "group": group,
            "where": where,
            "cases": len(chosen),
        }
        for name in ("speedup", "time", "mean"):
            shares = np.array([row[name] for row in chosen])
            found[name] = round(float(shares.mean()), 3)
            found[f"{name}_error"] = round(float(shares.std(ddof=1) / len(shares) ** 0.5), 3)
        found["excluded"] = round(float(np.mean([row["excluded"] for row in chosen])), 4)
        found["width_median"] = round(float(np.median([row["width"] for row in chosen])), 2)
        yield found


def campaign(seeds: Iterable[int], size: int, *, thinned: int = 1) -> list[Row]:
    """Coverage for every height of the step and every other departure."""
    found: list[Row] = []
    kinds: list[tuple[str, Any]] = [("step", height) for height in HEIGHTS]
    kinds += [("departure", name) for name in DEPARTURES]
    for of, value in kinds:
        given = {"height": value} if of == "step" else {"height": HEIGHTS[1], "departure": value}
        rows = [row for seed in seeds for row in rows_of(cases(seed, size, thinned=thinned, **given))]
        found += said(rows, of, value)
        for by, groups in (("base", BASES), ("design", DESIGNS), ("noise", NOISES)):
            for group in groups:
                found += said([row for row in rows if row[by] == group], of, value, by, group)
        for row in found[-3 * (1 + len(BASES) + len(DESIGNS) + len(NOISES)) :][:3]:
            print(row, file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Run every case and write the record."""
    found = campaign(JUDGED, SIZE)
    write_record("steps", found, command="python -m tests.campaigns.steps", seed=list(JUDGED))


if __name__ == "__main__":
    main()
