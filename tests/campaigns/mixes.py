"""Tell whether the scores of simulated mixes lie above zero by bias or by Student's law.

``python -m tests.campaigns.mixes [COUNT]``. A score divides the distance of the mean from the exact
one by a standard error of the same replications. Where replications are skewed to the right, as
mean response times of a busy queue are, a low mean comes with a small error, so the score has a
mean of about skewness / (2 sqrt(n)) although the mean itself is unbiased (W. S. Gosset's t under
skewness: Johnson, J. Am. Stat. Assoc. 73, 1978, 536-544). Divided by the error of *other*
replications the score keeps a bias of the simulator and loses that of the ratio.
"""

from __future__ import annotations

import sys

import numpy as np

from qmodels.policies import SpaceSharing
from tests.campaigns.record import write_record
from tests.validation.test_mixes import ALONE, fixed, pollaczek_khinchine, random_mix
from validation import simulate

REPLICATIONS = 20


def measured(number):
    """Scores of one mix: against its own error, and each half of 40 runs against the other's."""
    work, rate, mean, second = random_mix(number)
    exact = pollaczek_khinchine(rate, mean, second)
    options = fixed(rate, 2 * REPLICATIONS, 4000, seed=number)
    run = simulate(SpaceSharing(1, 1), ALONE, work, **options)
    halves = np.array(run.responses).reshape(2, REPLICATIONS)
    gap = exact - halves.mean(axis=1)
    error = halves.std(axis=1, ddof=1) / np.sqrt(REPLICATIONS)
    centred = halves.ravel() - halves.mean()
    return {
        "mix": number,
        "load": rate * mean,
        "demand_scv": second / mean**2 - 1.0,
        "exact": exact,
        "relative_gap": float(gap.mean() / exact),
        "own_error_t": float((gap / error).mean()),
        "others_error_t": float((gap / error[::-1]).mean()),
        "skewness": float((centred**3).mean() / (centred**2).mean() ** 1.5),
    }


def main(count: int) -> None:
    """Measure so many mixes, say how far it has come, write the record."""
    rows = []
    for number in range(count):
        rows.append(measured(number))
        if (number + 1) % 50 == 0:
            print(f"{number + 1} of {count} mixes", file=sys.stderr)
    found = {}
    for key in ("relative_gap", "own_error_t", "others_error_t", "skewness"):
        values = np.array([row[key] for row in rows])
        found[f"mean_{key}"] = float(values.mean())
        found[f"standard_error_of_mean_{key}"] = float(values.std(ddof=1) / np.sqrt(count))
    command = f"python -m tests.campaigns.mixes {count}"
    write_record("mixes", rows, command=command, replications=2 * REPLICATIONS, mixes=count, **found)
    print(found)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 500)
