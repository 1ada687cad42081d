"""Streams of random numbers, keyed by what they are for."""

from __future__ import annotations

import numpy as np

from phasefit.checks import whole_number


def stream(seed: int, *key: int) -> np.random.Generator:
    """Generator for one place in a study: the same bits whoever asks, in whatever order.

    Parameters
    ----------
    seed : int
        Root of the study, >= 0.
    key : int
        Place within it, such as (point, replication).
    """
    entropy = whole_number("seed", seed, least=0)
    for part in key:
        whole_number("stream key", part, least=0)
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))
