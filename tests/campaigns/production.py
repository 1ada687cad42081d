"""Hold laws of I/O beside production to two months of benchmarks, learnt from the four before.

``python -m tests.campaigns.production`` writes a row for each group to ``docs/record/production.csv``. The
months and groups are those of `tests.campaigns.production_groups`, committed before any fit. The form of the
law and its constants were chosen on the first three months against the fourth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from phasefit.arrays import Array
from qmodels.storage import learn_production
from tests.campaigns.production_groups import MACHINES, read_groups, split
from tests.campaigns.record import write_record

LEVELS: Final = np.array([0.1, 0.5, 0.9])
#: Of what the true law would reach; nothing else here is drawn.
SEED: Final = 1


def loads_of(runs: pd.DataFrame) -> dict[str, Array]:
    """Return what is known of the file system during runs: others' traffic, and how busy its servers are."""
    own = runs["darshan_total_gibs_posix"]
    traffic = runs["fs_tot_gibs_read"].fillna(own) + runs["fs_tot_gibs_written"].fillna(0.0)
    return {
        "others' traffic": np.log(np.maximum(traffic / own, 1.0)).to_numpy(),
        "servers busy": runs["fs_ave_oss_cpu"].to_numpy(dtype=float),
    }


def pinball(seen: Array, quantiles: Array) -> float:
    """Return the mean pinball loss of quantiles at `LEVELS`, (3, n) or (3, 1), of values (n,)."""
    off = seen[None, :] - quantiles
    return float(np.mean(np.maximum(LEVELS[:, None] * off, (LEVELS[:, None] - 1.0) * off)))


def by_the_truth(seen: Array, rng: np.random.Generator, draws: int = 400) -> tuple[float, float]:
    """Return the median error of the true law at p90, and how often it covers from .75 to .85.

    Logarithms that were seen stand for the law; as many are drawn of them, again and again.
    """
    low, high = np.quantile(seen, LEVELS[[0, 2]])
    drawn = rng.choice(seen, (draws, seen.size))
    covered = np.mean((drawn >= low) & (drawn <= high), axis=1)
    off = np.abs(np.quantile(drawn, LEVELS[2], axis=1) - high)
    return float(np.median(off)), float(np.mean((covered >= 0.75) & (covered <= 0.85)))


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each group: errors of quantiles, coverage and losses of logarithms."""
    rng = np.random.default_rng(SEED)
    for machine in MACHINES:
        parts = {name: both for name, group in read_groups(machine) if (both := split(group)) is not None}
        past = pd.concat([learnt for learnt, _ in parts.values()])
        names = [name for name, (learnt, _) in parts.items() for _ in range(len(learnt))]
        law = learn_production(past["seconds"], names, loads_of(past))
        for name, (learnt, checked) in parts.items():
            seen = np.log(checked["seconds"].to_numpy())
            loads = loads_of(checked)
            at = [{key: float(x[i]) for key, x in loads.items()} for i in range(seen.size)]
            given = np.log([law.quantiles(name, LEVELS, at=one) for one in at]).T
            alone = np.log(law.quantiles(name, LEVELS))
            empirical = np.quantile(np.log(learnt["seconds"]), LEVELS)
            fine = np.arange(0.01, 1.0, 0.02)
            mixed = np.quantile(np.log([law.quantiles(name, fine, at=one) for one in at]), LEVELS)
            actual = np.quantile(seen, LEVELS)
            true_error, true_coverage = by_the_truth(seen, rng)
            yield {
                "group": name,
                "learnt": len(learnt),
                "checked": seen.size,
                **{
                    f"p{100 * q:.0f}_error": abs(m - a) for q, m, a in zip(LEVELS, mixed, actual, strict=True)
                },
                **{
                    f"p{100 * q:.0f}_alone": abs(m - a) for q, m, a in zip(LEVELS, alone, actual, strict=True)
                },
                "covered": float(np.mean((seen >= given[0]) & (seen <= given[2]))),
                "covered_alone": float(np.mean((seen >= alone[0]) & (seen <= alone[2]))),
                "pinball": pinball(seen, given),
                "pinball_alone": pinball(seen, alone[:, None]),
                "pinball_empirical": pinball(seen, empirical[:, None]),
                "promised": law.groups[name].covered,
                "p90_error_of_truth": true_error,
                "chance_of_truth": true_coverage,
            }


def main() -> None:
    """Make the record."""
    found = [{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows()]
    write_record(
        "production",
        found,
        command="python -m tests.campaigns.production",
        seed=SEED,
        data="data/measured/tokio-*.csv.gz",
    )


if __name__ == "__main__":
    main()
