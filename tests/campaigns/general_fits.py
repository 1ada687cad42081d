"""Ask whether a general law is ever less likely than those it contains.

``python -m tests.campaigns.general_fits``

Two hundred sets of data of ten kinds, most of which no phase-type law of so few phases has, by a seed.
"""

from __future__ import annotations

import sys

import numpy as np

from phasefit import maximise
from tests.campaigns.record import write_record
from validation.analysis.seeding import stream

SEED, SETS, SIZE = 405, 200, 300
KINDS = {
    "lognormal": lambda rng: rng.lognormal(0.0, rng.uniform(0.3, 2.0), SIZE),
    "Weibull": lambda rng: rng.weibull(rng.uniform(0.3, 3.0), SIZE),
    "Pareto": lambda rng: rng.pareto(rng.uniform(1.2, 3.0), SIZE) + 0.1,
    "gamma": lambda rng: rng.gamma(rng.uniform(0.3, 8.0), 1.0, SIZE),
    "uniform": lambda rng: rng.uniform(0.1, rng.uniform(0.5, 3.0), SIZE),
    "whole seconds": lambda rng: np.ceil(rng.lognormal(2.0, 1.5, SIZE)),
    "two humps": lambda rng: np.concatenate(
        [rng.gamma(20.0, 0.05, SIZE // 2), rng.gamma(20.0, 1.0, SIZE // 2)]
    ),
    "exponential": lambda rng: rng.exponential(1.0, SIZE),
    "one giant": lambda rng: np.append(rng.exponential(1.0, SIZE - 1), 1e4),
    "equal but few": lambda rng: np.append(np.ones(SIZE - 5), rng.exponential(5.0, 5)),
}


def main() -> None:
    """Fit, compare, write the record."""
    rows = []
    for number in range(SETS):
        kind, draw = list(KINDS.items())[number % len(KINDS)]
        rng = stream(SEED, number)
        values, order = draw(rng), int(rng.integers(2, 5))
        families = ("hyper-erlang", "coxian", "general")
        fits = {f: maximise(values, family=f, order=order, rng=number)[0] for f in families}
        each = {f: fit.log_likelihood / SIZE for f, fit in fits.items()}
        behind = max(each["hyper-erlang"], each["coxian"]) - each["general"]
        row = {"set": number, "kind": kind, "order": order, **each, "general_behind": behind}
        rows.append(row | {"converged": fits["general"].converged})
        print(number, kind, order, f"{behind:.2e}", file=sys.stderr, flush=True)
    write_record("general-fits", rows, command="python -m tests.campaigns.general_fits", seed=SEED)
    behind = np.array([row["general_behind"] for row in rows])
    print(f"{(behind > 1e-9).sum()} of {SETS} behind, at worst {behind.max():.2e} a value")


if __name__ == "__main__":
    main()
