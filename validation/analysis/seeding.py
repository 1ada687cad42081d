"""Streams of random numbers, keyed by what they are for.

All randomness of a study comes from one seed. A stream is named by that seed and a key that says
what the stream is for: names such as ``"pilot"`` and numbers such as that of a replication. Whoever
asks for a key gets the same bits, in any order, on any number of workers, after any resume. Sums
such as ``seed + replication`` are no keys: the second replication of seed 0 would be the first one
of seed 1.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np

from phasefit.checks import whole_number
from qmodels.errors import ModelError

#: Whole numbers below this are one word of a `numpy.random.SeedSequence` key.
_ONE_WORD = 1 << 32


def stream(seed: int, *key: int | str) -> np.random.Generator:
    """Return the generator of one place in a study: the same bits whoever asks, in whatever order.

    Parameters
    ----------
    seed : int
        Root of the study, >= 0.
    *key : int or str
        What the stream is for: names, and whole numbers >= 0, such as ``("pilot", run)`` or
        ``(point, replication)``. The number 1 and the name ``"1"`` are different.

    Returns
    -------
    numpy.random.Generator
        A new one, at its beginning.

    Raises
    ------
    ModelError
        If the seed or a part of the key is no whole number >= 0, or a name is empty.

    Notes
    -----
    The key is the ``spawn_key`` of a `numpy.random.SeedSequence`. A number below 2^32 stands for
    itself. A name, and a larger number, stands for the 128 bits of its BLAKE2b digest, which do
    not depend on the process as Python's ``hash`` does. Generators spawned from a stream have its
    key with one number more, so do not use a key together with a longer one that begins with it.

    Examples
    --------
    >>> stream(7, "jobs", 0).random() == stream(7, "jobs", 0).random()
    True
    >>> stream(7, "jobs", 0).random() == stream(7, "messages", 0).random()
    False
    >>> stream(0, 1).random() == stream(1, 0).random()
    False
    """
    return np.random.default_rng(_sequence(seed, key))


def word(seed: int, *key: int | str, bits: int = 63, byteorder: Literal["little", "big"] = "little") -> int:
    """Return a whole number that seeds an engine which takes no generator, such as a network simulator.

    Parameters
    ----------
    seed : int
        As for `stream`.
    *key : int or str
        As for `stream`. A key given to `stream` is not to be given here too: both would draw on
        the same words.
    bits : int
        Length of the number, 1 to 64. The default fits a signed 64-bit integer.
    byteorder : "little" or "big"
        Whether the second or the first of the two 32-bit words below the key is the more
        significant.

    Returns
    -------
    int
        At least 0 and below ``2**bits``.

    Raises
    ------
    ModelError
        As for `stream`, or if `bits` or `byteorder` is out of range.

    Examples
    --------
    >>> word(7, "messages", 0) == word(7, "messages", 0) < 2**63
    True
    >>> word(0, "messages", 1) == word(1, "messages", 0)
    False
    """
    if whole_number("bits", bits, least=1) > 64:
        raise ModelError(f"bits must be at most 64, got {bits}")
    if byteorder not in ("little", "big"):
        raise ModelError(f"byteorder must be 'little' or 'big', got {byteorder!r:.40}")
    words = _sequence(seed, key).generate_state(2, np.uint32).tolist()
    high, low = words if byteorder == "big" else words[::-1]
    return int(high << 32 | low) >> (64 - bits)


def _sequence(seed: int, key: tuple[int | str, ...]) -> np.random.SeedSequence:
    entropy = whole_number("seed", seed, least=0)
    words: list[int] = []
    for part in key:
        words += _words_of(part)
    return np.random.SeedSequence(entropy, spawn_key=words)


def _words_of(part: int | str) -> list[int]:
    """The 32-bit words that a part of a key stands for."""
    if isinstance(part, str):
        if not part:
            raise ModelError("a name in a stream key must not be empty")
        return _digest(part.encode("utf-8", "surrogatepass"), b"name")
    number = whole_number("stream key", part, least=0)
    if number < _ONE_WORD:
        return [number]
    # As several words of its own it would be mistaken for several smaller numbers.
    return _digest(number.to_bytes((number.bit_length() + 7) // 8, "little"), b"number")


def _digest(data: bytes, kind: bytes) -> list[int]:
    """128 bits as four words; `kind` keeps names and numbers apart."""
    found = hashlib.blake2b(data, digest_size=16, person=kind).digest()
    return [int.from_bytes(found[k : k + 4], "little") for k in range(0, 16, 4)]
