"""Forty processes of arrivals outside of the families that `fit_map` fits, drawn by a rule.

The rule, the seed and the number of each kind were committed before the fit by third moments of counts
was written. Kinds are those of `tests.campaigns.outside_processes`, which was seen while `fit_map` was made
before; every parameter here is drawn anew. Gaps have a mean of about one second.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.campaigns.outside_processes import (
    Draw,
    cascade,
    correlated,
    cycle,
    fractional_rate,
    on_off,
    renewal,
    self_exciting,
    semi_markov,
    sessions,
    waves,
)

#: Seeds of the parameters, of the histories that are fitted, and of the long runs that are the truth.
RULE_SEED, HISTORY_SEED, TRUTH_SEED = 36_003_001, 36_003_002, 36_003_003
#: Gaps of a history.
SIZE = 50_000


def _log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _two_states(rng, low, high):
    """Mean sojourns and rates of a process of two states whose time scale is between two bounds."""
    scale, share = _log_uniform(rng, low, high), rng.uniform(0.1, 0.7)
    return (scale / (1.0 - share), scale / share), (rng.uniform(1.2, 3.0), rng.uniform(0.0, 0.5))


def two_scales(rng):
    return waves([_two_states(rng, 2.0, 20.0), _two_states(rng, 100.0, 1000.0)])


def three_scales(rng):
    return waves([_two_states(rng, 1.0, 5.0), _two_states(rng, 10.0, 60.0), _two_states(rng, 120.0, 800.0)])


def product_of_scales(rng):
    return cascade(int(rng.integers(3, 6)), _log_uniform(rng, 3.0, 6.0), rng.uniform(0.25, 0.5))


def sources(rng):
    number = int(rng.integers(3, 30))
    pause = rng.uniform(1.0, 4.0)
    return partial(
        on_off,
        sources=number,
        shape=rng.uniform(1.3, 1.9),
        most=_log_uniform(rng, 100.0, 800.0),
        rate=(1.0 + pause) / number,
        pause=pause,
    )


def long_noise(rng):
    return partial(
        fractional_rate,
        hurst=rng.uniform(0.6, 0.85),
        spread=rng.uniform(0.2, 0.6),
        cell=_log_uniform(rng, 3.0, 20.0),
    )


def users(rng):
    return partial(
        sessions,
        shape=rng.uniform(1.5, 2.5),
        most=_log_uniform(rng, 50.0, 500.0),
        think=_log_uniform(rng, 0.02, 15.0),
        apart=1.0,
    )


def regimes(rng):
    means, spreads = rng.uniform(2.0, 4.0, 2), rng.uniform(0.5, 1.2, 2)
    quick, slow, shape = rng.uniform(0.3, 0.7), rng.uniform(1.5, 4.0), rng.uniform(0.4, 2.0)
    return partial(
        semi_markov,
        stay=tuple(lambda r, m=m, s=s: r.lognormal(m, s) for m, s in zip(means, spreads, strict=True)),
        gaps=(
            lambda r, n: r.exponential(quick, n),
            lambda r, n: r.gamma(shape, slow / shape, n),
        ),
    )


def days(rng):
    return partial(
        cycle, day=_log_uniform(rng, 50.0, 500.0), depth=rng.uniform(0.3, 0.9), week=rng.uniform(0.0, 0.6)
    )


def autoregression(rng):
    return partial(correlated, factor=rng.uniform(0.8, 0.98), spread=rng.uniform(0.5, 1.2))


def children(rng):
    return partial(self_exciting, branching=rng.uniform(0.4, 0.85), decay=_log_uniform(rng, 0.5, 10.0))


def independent(rng):
    shape = rng.uniform(0.35, 0.8)
    return partial(renewal, law=lambda r, n: r.weibull(shape, n))


#: How many processes of each kind there are.
KINDS = (
    (two_scales, 10),
    (three_scales, 5),
    (product_of_scales, 3),
    (sources, 3),
    (long_noise, 3),
    (users, 4),
    (regimes, 3),
    (days, 2),
    (autoregression, 2),
    (children, 2),
    (independent, 3),
)


def unseen_processes() -> dict[str, Draw]:
    """Forty processes by name, the same ones each time."""
    found = {}
    for kind, many in KINDS:
        for k in range(many):
            rng = np.random.default_rng([RULE_SEED, len(found)])
            found[f"{kind.__name__.replace('_', ' ')} {k + 1}"] = kind(rng)
    assert len(found) == 40
    return found
