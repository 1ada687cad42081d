"""Streams keyed by what they are for: known bits, no two keys alike, any order and worker."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmodels.errors import ModelError
from validation.analysis.seeding import stream, word

parts = st.one_of(st.integers(0, 2**70), st.text(min_size=1, max_size=8))
keys = st.lists(parts, max_size=4).map(tuple)


def first_bits(seed, *key):
    return stream(seed, *key).bit_generator.random_raw()


@pytest.mark.parametrize("seed", [0, 3, 2**40])
@pytest.mark.parametrize("key", [(), (0,), (1, 0), (5, 2**32 - 1, 7)])
def test_a_key_of_numbers_is_numpy_s_spawn_key(seed, key):
    """So results that were published with keys of numbers keep their bits."""
    twin = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    assert stream(seed, *key).random(5).tolist() == twin.random(5).tolist()


def test_a_name_stands_for_the_128_bits_of_its_blake2b_digest():
    """Written out, since the digest must be the same on every machine for good."""
    assert first_bits(7, "jobs", 3) == 3972588381808545735
    twin = np.random.SeedSequence(7, spawn_key=(*np.frombuffer(_digest("jobs"), "<u4").tolist(), 3))
    assert first_bits(7, "jobs", 3) == np.random.PCG64(twin).random_raw()


def _digest(name):
    import hashlib

    return hashlib.blake2b(name.encode(), digest_size=16, person=b"name").digest()


@pytest.mark.thorough
def test_names_do_not_depend_on_the_hash_seed_of_the_process():
    code = "from validation.analysis.seeding import word; print(word(1, 'messages', 2))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**_environment(), "PYTHONHASHSEED": str(k)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for k in (1, 2)
    }
    assert said == {f"{word(1, 'messages', 2)}\n"}


def _environment():
    import os

    return dict(os.environ)


def test_the_second_replication_of_seed_zero_is_not_the_first_of_seed_one():
    assert first_bits(0, 1) != first_bits(1, 0)
    assert word(0, "pilot", 1) != word(1, "pilot", 0)


@given(one=keys, other=keys)
def test_different_keys_have_different_streams(one, other):
    assert (first_bits(5, *one) == first_bits(5, *other)) == (one == other)


def test_names_and_numbers_that_look_alike_are_told_apart():
    alike = [
        (1,),
        ("1",),
        (1, 1),
        ("1", "1"),
        ("11",),
        (1, "1"),
        ("1", 1),
        ("a", "b"),
        ("ab",),
        ("b", "a"),
        (0,),
        (0, 0),
        (),
        (2**32,),
        (0, 1),
        (str(2**32),),
        (2**32 + 5,),
        (5, 1),
        ("A",),
        ("a",),
        ("a ",),
        ("é",),
        ("e\u0301",),
    ]
    assert len({first_bits(0, *key) for key in alike}) == len(alike)
    assert len({word(0, *key) for key in alike}) == len(alike)


def test_a_key_has_the_same_bits_in_any_order_and_on_any_number_of_workers():
    some = list(product(("jobs", "messages"), range(6)))
    expected = {key: first_bits(9, *key) for key in some}
    assert {key: first_bits(9, *key) for key in reversed(some)} == expected
    for workers in (1, 2, 5):
        with ThreadPoolExecutor(workers) as pool:
            found = pool.map(lambda key: first_bits(9, *key), some)
            assert dict(zip(some, found, strict=True)) == expected


def test_a_word_is_a_number_of_so_many_bits_of_the_key_s_two_words():
    low, high = np.random.SeedSequence(4, spawn_key=(1, 2)).generate_state(2, np.uint32).tolist()
    assert word(4, 1, 2, bits=64) == high << 32 | low
    assert word(4, 1, 2) == (high << 32 | low) >> 1
    assert word(4, 1, 2, bits=53, byteorder="big") == (low << 32 | high) >> 11
    for bits in (1, 31, 63):
        assert all(0 <= word(k, "x", bits=bits) < 2**bits for k in range(50))
    # Fair: of 400 words of one bit, about half are 1 (4 standard errors).
    assert abs(sum(word(0, "coin", k, bits=1) for k in range(400)) - 200) < 4 * 10


@pytest.mark.parametrize("key", [(-1,), (1.0,), (None,), (True,), ("",), (b"a",), (("a",),)])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(ModelError, match="stream key"):
        stream(0, *key)
    with pytest.raises(ModelError, match="stream key"):
        word(0, *key)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"bits": 0}, "bits"), ({"bits": 65}, "bits"), ({"byteorder": "middle"}, "byteorder")],
)
def test_what_is_no_word_is_refused(options, says):
    with pytest.raises(ModelError, match=says):
        word(0, "x", **options)


@pytest.mark.thorough
def test_no_two_purposes_of_the_simulators_share_a_stream(monkeypatch):
    """Every stream and word that a study asks for, by whoever: no key twice, none within another.

    Generators spawned from a stream have its key with a number more, so a key that begins with
    another one could meet them.
    """
    from validation.analysis import seeding
    from validation.jobs import PoissonStreams
    from validation.machine import Machine, compare_strategies
    from validation.machine.loads import interarrival_for
    from validation.mesh import Mesh
    from validation.papers.liu.campaign import placed_at_once
    from validation.papers.liu.setup import Variant

    asked = []
    real = seeding._sequence

    def noted(seed, key):
        found = real(seed, key)
        asked.append((seed, found.spawn_key))
        return found

    monkeypatch.setattr(seeding, "_sequence", noted)
    jobs = PoissonStreams(jobs=20, mean_interarrival=60.0, mean_size=6.0, largest=64)
    machine = Machine(mesh=Mesh(8, 8, io_side="west"))
    interarrival_for(machine, jobs, 0.4, seed=1, replications=2, tolerance=0.5)
    compare_strategies(machine, ["Random"], jobs, replications=3, seed=1)
    placed_at_once(Variant("BT", ""), runs=3, seed=1)
    purposes = set(asked)
    below_the_seed = {key for seed, key in purposes if seed == 1}
    # Pilot runs: jobs and messages of two; runs of record: the same of three; three placements.
    assert len(below_the_seed) == 2 * 2 + 2 * 3 + 3
    assert not [
        (one, other)
        for one, other in product(below_the_seed, repeat=2)
        if one != other and other[: len(one)] == one
    ]
    # Each run has a seed of its own, under which its strategy and its messages have streams.
    assert {key for seed, key in purposes if seed != 1} == {(0,), (1,)}
    assert len({seed for seed, _ in purposes if seed != 1}) == 2 + 3


def test_streams_of_a_job_level_replication_are_apart():
    from validation.sharing.draws import BURSTS, JOBS, PAUSES, PHASES, TURNS

    purposes = (JOBS, PHASES, BURSTS, PAUSES, TURNS)
    places = product(range(2), range(3), purposes)
    assert len({first_bits(0, *place) for place in places}) == 2 * 3 * len(purposes)
