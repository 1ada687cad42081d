"""Simple forecasts that the averaged law is held against, and the campaign that does so."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from qmodels.programs import fit_runs
from tests.naive.outside import FAMILIES, NOISES, RUNS, Case

FORMS = {
    "1": lambda p, d: np.ones_like(p),
    "1/p": lambda p, d: 1 / p,
    "1/d": lambda p, d: 1 / d,
}

#: What is fitted to whole runs, or to each kind of burst, by relative least squares.
RIVALS = {
    "a + b/p of totals": {"total": ("1", "1/p")},
    "a + b/p + c/d of totals": {"total": ("1", "1/p", "1/d")},
    "a + b/p ; a + c/d by burst": {"cpu": ("1", "1/p"), "io": ("1", "1/d")},
    "a + b/p by burst": {"cpu": ("1", "1/p"), "io": ("1", "1/p")},
    "a + b/p ; a + b/p + c/d by burst": {"cpu": ("1", "1/p"), "io": ("1", "1/p", "1/d")},
}


def by_rival(name, frame, p, d):
    """Seconds at one allotment by a rival fitted to a table of runs."""
    at, found = (np.array([float(p)]), np.array([float(d)])), 0.0
    for kind, forms in RIVALS[name].items():
        part = frame[frame["kind"] == kind]
        if kind == "total":
            part = frame.groupby(["p", "d", "repeat"], as_index=False)["seconds"].sum()
        if part.empty:
            continue
        runs = (part["p"].to_numpy(float), part["d"].to_numpy(float))
        y = part["seconds"].to_numpy(float)
        x = np.stack([FORMS[form](*runs) for form in forms], axis=1)
        coefficients = nnls(x / y[:, None], np.ones(y.size))[0]
        found = found + coefficients @ [FORMS[form](*at)[0] for form in forms]
    return float(found)


def held_to_its_run(case, *, level=0.9):
    """What forecast and rivals say of the run at a case's target, as a row of numbers."""
    (fitted,) = fit_runs(case.runs).values()
    p, d = case.target
    found = fitted.predict(p, d, level)
    row = {
        "family": case.family,
        "runs": len(case.cells),
        "noise": case.noise,
        "disturbed": str(case.how),
        "seen": case.seen,
        "low": float(found.time_low[0]),
        "high": float(found.time_high[0]),
        "median": float(found.time.data[0]),
        "discrepancy": fitted.discrepancy,
        "cliffs": len(fitted.cliffs),
    }
    row["covered"] = row["low"] <= case.seen <= row["high"]
    row["error"] = abs(np.log(row["median"] / case.seen))
    for name in RIVALS:
        row[name] = abs(np.log(by_rival(name, case.runs.frame, p, d) / case.seen))
    return row


def campaign(size, *, seed, families=tuple(FAMILIES), runs=RUNS, departing=None):
    """Rows of `size` cases for each family and number of runs; noises take turns.

    `departing` makes another truth of each: see `tests.naive.steps.departing`.
    """
    numbered = list(FAMILIES)
    for name in families:
        place = numbered.index(name)
        for turn in range(size):
            for k, count in enumerate(runs):
                rng = np.random.default_rng([seed, place, turn, count])
                noise = NOISES[(turn + place + k) % len(NOISES)]
                yield held_to_its_run(Case(name, rng, count, noise, departing=departing))


def by_determinant(cells, candidates):
    """Place of the candidate that adds most to the determinant of a + b/p + c/d (D-optimal).

    Relative errors are alike, so rows are forms over the time that equal parts of them take.
    """
    p, d = np.concatenate([np.array(cells, dtype=float), candidates]).T
    x = np.stack([form(p, d) for form in FORMS.values()], axis=1)
    x = x / x.sum(axis=1, keepdims=True)
    done = x[: len(cells)].T @ x[: len(cells)]
    gains = [np.linalg.slogdet(done + np.outer(row, row))[1] for row in x[len(cells) :]]
    return int(np.argmax(gains))


def after_one_more(case, rng):
    """Errors at the target, and whether it is covered, after the advised run and its rivals.

    The user can make runs of up to twice what was run; each run is disturbed in the same way.
    """
    (fitted,) = fit_runs(case.runs).values()
    most_p, most_d = np.max(case.cells, axis=0)
    ranked = fitted.next_run(targets=case.target, within=((1, 2 * most_p), (1, 2 * most_d)))
    candidates = np.stack([ranked.processors, ranked.disks], axis=1)
    rows = {"nothing more": held_to_its_run(case)}
    places = {
        "advised": 0,
        "at random": int(rng.integers(len(candidates))),
        "D-optimal": by_determinant(case.cells, candidates),
    }
    state = rng.bit_generator.state
    for name, place in places.items():
        rng.bit_generator.state = state  # the same disturbance for all
        rows[name] = held_to_its_run(case.with_run(candidates[place], rng))
    return rows
