"""Thirty processes of arrivals that are outside of the families that `fit_map` fits, as a list.

The list, its numbers and its seeds were committed before any of them was fitted: names, how many
gaps a history has, and how it is drawn. Gaps are in seconds; their mean is about one, and what it
is in the long run is measured with the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.signal import lfilter

from phasefit import MAP

#: Draws so many successive gaps.
Draw = Callable[[int, np.random.Generator], np.ndarray]
#: Seeds of the histories that are fitted, and of the long runs that are the truth.
HISTORY_SEED, TRUTH_SEED = 32_004_001, 32_004_002
#: Gaps of the three histories of each process.
SIZES = (5_000, 20_000, 80_000)


def waves(chains):
    """Superposed processes of two states: mean sojourns and rates of each."""
    parts = [MAP.modulated([[0.0, 1.0 / a], [1.0 / b, 0.0]], rates=rates) for (a, b), rates in chains]
    process = parts[0].superpose(*parts[1:]).at_rate(1.0)
    return lambda n, rng: process.rvs(n, rng)


def cascade(scales, ratio, depth):
    """A rate that is a product of two-state factors, each `ratio` times as slow as the last."""
    generator, rates = np.zeros((1, 1)), np.ones(1)
    for k in range(scales):
        chain = np.full((2, 2), 1.0 / (3.0 * ratio**k))
        generator = np.kron(generator, np.eye(2)) + np.kron(np.eye(len(generator)), chain)
        rates = np.kron(rates, [1.0 + depth, 1.0 - depth])
    process = MAP.modulated(generator, rates=rates).at_rate(1.0)
    return lambda n, rng: process.rvs(n, rng)


def _bounded_pareto(rng, size, shape, most):
    """From 1 to `most`."""
    u = rng.random(size)
    return (1.0 - u * (1.0 - most**-shape)) ** (-1.0 / shape)


def on_off(n, rng, sources, shape, most, rate, pause):
    """Sources that are on and off for Pareto times, and send at a rate while they are on."""
    mean_on = shape / (shape - 1.0) * (1.0 - most ** (1.0 - shape)) / (1.0 - most**-shape)
    each = rate / (1.0 + pause)  # events per second and source
    length = 1.05 * n / (sources * each) + 20.0 * most**0.5
    while True:
        events = []
        for _ in range(sources):
            # begins anywhere in a long past
            count = int((length + most) / (mean_on * (1.0 + pause)) * 1.3) + 50
            on = _bounded_pareto(rng, count, shape, most)
            off = pause * _bounded_pareto(rng, count, shape, most)
            begins = np.concatenate([[0.0], np.cumsum(on + off)[:-1]]) - most * rng.random()
            number = rng.poisson(rate * on)
            events.append(np.repeat(begins, number) + np.repeat(on, number) * rng.random(number.sum()))
        times = np.sort(np.concatenate(events))
        times = times[(times > 0.0) & (times < length)]
        if times.size > n:
            return np.diff(times[: n + 1])
        length *= 1.3


def fractional_rate(n, rng, hurst, spread, cell):
    """Poisson with a log-normal rate whose logarithm is fractional Gaussian noise in cells."""
    cells = int(1.3 * n / cell) + 64
    k = np.arange(cells)
    cov = 0.5 * ((k + 1.0) ** (2 * hurst) - 2.0 * k ** (2 * hurst) + np.abs(k - 1.0) ** (2 * hurst))
    ring = np.concatenate([cov, cov[-2:0:-1]])  # circulant embedding
    power = np.maximum(np.fft.rfft(ring).real, 0.0)
    noise = np.fft.irfft(np.sqrt(power) * np.fft.rfft(rng.standard_normal(ring.size)), ring.size)
    rate = np.exp(spread * noise[:cells] - 0.5 * spread**2)
    number = rng.poisson(rate * cell)
    times = np.sort(np.repeat(k * cell, number) + cell * rng.random(number.sum()))
    if times.size <= n:
        return fractional_rate(n, rng, hurst, spread, cell)
    return np.diff(times[: n + 1])


def sessions(n, rng, shape, most, think, apart):
    """Users who come at random and submit a Pareto number of jobs, thinking in between."""
    mean = float(np.mean(np.floor(_bounded_pareto(np.random.default_rng(0), 200_000, shape, most))))
    users = int(1.2 * n / mean) + 200
    begins = np.cumsum(rng.exponential(apart * mean, users))
    count = np.floor(_bounded_pareto(rng, users, shape, most)).astype(int)
    first = np.cumsum(count) - count
    pauses = rng.exponential(think, count.sum())
    pauses[first] = 0.0
    since = np.cumsum(pauses)
    times = np.sort(np.repeat(begins - since[first], count) + since)
    times = times[(times > begins[50]) & (times < begins[-1])]
    return np.diff(times[: n + 1]) if times.size > n else sessions(n, rng, shape, most, think, apart)


def cycle(n, rng, day, depth, week):
    """Poisson at a rate that follows the day, and at weekends is lower by `week`."""
    most = 1.0 + depth
    times = np.cumsum(rng.exponential(1.0 / most, int(2.6 * n * most / (1.0 - 2 * week / 7)) + 100))
    rate = 1.0 + depth * np.sin(2.0 * np.pi * times / day)
    rate *= np.where((times / day) % 7.0 >= 5.0, 1.0 - week, 1.0)
    kept = times[rng.random(times.size) < rate / most]
    return np.diff(kept[: n + 1])


def renewal(n, rng, law):
    return law(rng, n)


def semi_markov(n, rng, stay, gaps):
    """Two regimes in turn: how many gaps each lasts, and of which law they are."""
    found, total = [], 0
    regime = int(rng.integers(2))
    while total < n + 1_000:
        count = max(1, int(stay[regime](rng)))
        found.append(gaps[regime](rng, count))
        total += count
        regime = 1 - regime
    begin = int(rng.integers(1_000))
    return np.concatenate(found)[begin : begin + n]


def correlated(n, rng, factor, spread):
    """Log-normal gaps whose logarithms are an autoregression of first order."""
    noise = rng.standard_normal(n + 2_000) * np.sqrt(1.0 - factor**2)
    z = lfilter([1.0], [1.0, -factor], noise)[2_000:]
    return np.exp(spread * z - 0.5 * spread**2)


def bursts_on_time(n, rng, size, pause, jitter):
    """Bursts of so many jobs, a pause after each, both with a little jitter."""
    gaps = np.where(np.arange(n) % size == 0, pause, 0.02)
    return gaps * rng.uniform(1.0 - jitter, 1.0 + jitter, n)


def timetable(n, rng, jitter):
    """One job a second by the timetable, each late by a normal amount."""
    times = np.sort(np.arange(n + 1.0) + jitter * rng.standard_normal(n + 1))
    return np.diff(times)


def self_exciting(n, rng, branching, decay):
    """Events that bring others, a Poisson number with mean `branching`, after exponential times."""
    length = 1.1 * n + 100.0 * decay
    generation = length * rng.random(rng.poisson((1.0 - branching) * length))
    found = [generation]
    while generation.size:
        number = rng.poisson(branching, generation.size)
        generation = np.repeat(generation, number) + rng.exponential(decay, number.sum())
        found.append(generation)
    times = np.sort(np.concatenate(found))
    times = times[(times > 20.0 * decay) & (times < length)]
    return np.diff(times[: n + 1]) if times.size > n else self_exciting(n, rng, branching, decay)


def seasons(n, rng, lengths):
    """Gaps of a few known lengths in a fixed order, times Erlang noise."""
    pattern = np.resize(np.array(lengths), n) / np.mean(lengths)
    return pattern * rng.gamma(3.0, 1.0 / 3.0, n)


PROCESSES: dict[str, Draw] = {
    "two scales, 5 and 300": waves([((5, 5), (1.6, 0.3)), ((300, 300), (1.5, 0.2))]),
    "two scales, 2 and 900": waves([((2, 6), (3.0, 0.1)), ((900, 900), (1.2, 0.4))]),
    "two scales, rare crowds": waves([((10, 40), (2.5, 0.1)), ((100, 2000), (4.0, 0.3))]),
    "two scales, rare lulls": waves([((30, 10), (1.4, 0.1)), ((800, 150), (1.1, 0.0))]),
    "three scales, even": waves([((3, 3), (0.8, 0.1)), ((40, 40), (0.8, 0.1)), ((500, 500), (0.8, 0.2))]),
    "three scales, uneven": waves([((1, 5), (3.0, 0.0)), ((20, 60), (1.2, 0.1)), ((400, 900), (0.9, 0.2))]),
    "three scales, fast": waves([((0.5, 0.5), (1.5, 0.1)), ((4, 8), (1.2, 0.1)), ((30, 60), (1.2, 0.2))]),
    "cascade of 5 scales": cascade(scales=5, ratio=4.0, depth=0.35),
    "cascade of 4 deep scales": cascade(scales=4, ratio=5.0, depth=0.5),
    "3 on-off sources, 1.5": partial(on_off, sources=3, shape=1.5, most=300.0, rate=1.0, pause=2.0),
    "10 on-off sources, 1.3": partial(on_off, sources=10, shape=1.3, most=500.0, rate=0.5, pause=4.0),
    "40 on-off sources, 1.8": partial(on_off, sources=40, shape=1.8, most=1000.0, rate=0.1, pause=3.0),
    "fractional rate, .75": partial(fractional_rate, hurst=0.75, spread=0.5, cell=5.0),
    "fractional rate, .9": partial(fractional_rate, hurst=0.9, spread=0.3, cell=20.0),
    "sessions, 1.6": partial(sessions, shape=1.6, most=200.0, think=1.0, apart=1.0),
    "sessions, 2.5 in batches": partial(sessions, shape=2.5, most=1000.0, think=0.01, apart=1.0),
    "sessions, long thinking": partial(sessions, shape=1.8, most=100.0, think=15.0, apart=1.0),
    "day": partial(cycle, day=400.0, depth=0.8, week=0.0),
    "day and week": partial(cycle, day=120.0, depth=0.6, week=0.7),
    "Weibull gaps": partial(renewal, law=lambda rng, n: rng.weibull(0.35, n) / 5.0),
    "log-normal gaps": partial(renewal, law=lambda rng, n: rng.lognormal(-2.0, 2.0, n)),
    "Pareto gaps": partial(renewal, law=lambda rng, n: 0.8 * (0.05 + rng.pareto(1.8, n))),
    "gamma gaps": partial(renewal, law=lambda rng, n: rng.gamma(0.15, 1.0 / 0.15, n)),
    "semi-Markov, log-normal stays": partial(
        semi_markov,
        stay=(lambda r: r.lognormal(3.5, 1.0), lambda r: r.lognormal(2.5, 1.2)),
        gaps=(lambda r, n: r.exponential(0.5, n), lambda r, n: r.gamma(0.5, 6.0, n)),
    ),
    "semi-Markov, even stays": partial(
        semi_markov,
        stay=(lambda r: r.uniform(50, 150), lambda r: r.uniform(20, 60)),
        gaps=(lambda r, n: r.uniform(0.2, 0.6, n), lambda r, n: r.exponential(2.5, n)),
    ),
    "bursts on time": partial(bursts_on_time, size=12, pause=12.0, jitter=0.15),
    "timetable with delays": partial(timetable, jitter=3.0),
    "correlated gaps, .97": partial(correlated, factor=0.97, spread=1.0),
    "self-exciting": partial(self_exciting, branching=0.8, decay=4.0),
    "seasons": partial(seasons, lengths=(0.1, 0.1, 0.3, 2.0, 0.1, 3.0, 0.4)),
}
assert len(PROCESSES) == 30
