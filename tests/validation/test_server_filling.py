"""ServerFilling: published simulations, and that it fills the machine."""

import numpy as np
import pytest

from qmodels.errors import UnstableError
from validation.malleable import InSystem, random_jobs, simulate_jobs
from validation.malleable.jobs import RIGID
from validation.malleable.policies.server_filling import (
    ServerFilling,
    ServerFillingSRPT,
    server_filling_response,
)


def system_of(*need, left=None):
    shape = (1, len(need))
    return InSystem(
        8.0,
        np.ones(shape, bool),
        np.arange(len(need))[None, :],
        np.ones(shape) if left is None else np.array([left]),
        np.full(shape, RIGID),
        np.array([need], dtype=float),
    )


def test_the_prefix_that_could_fill_the_machine_does():
    assert ServerFilling().shares(system_of(1, 4, 8, 2)).tolist() == [[0, 0, 8, 0]]
    assert ServerFilling().shares(system_of(1, 4, 2, 2, 8)).tolist() == [[0, 4, 2, 2, 0]]
    assert ServerFilling().shares(system_of(1, 4)).tolist() == [[1, 4]]
    short = ServerFillingSRPT().shares(system_of(8, 4, 4, left=[1.0, 1.0, 1.5]))
    assert short.tolist() == [[0, 4, 4]]  # 4 and 6 processor-seconds are less than 8


def published(load, jobs):
    """Eight processors, needs of 1 (two thirds of the jobs) and 8, exponential of mean one."""
    drawn = random_jobs(
        load / (5.0 / 12.0),
        [(2.0, [(1.0, RIGID)]), (1.0, [(1.0, RIGID)])],
        [],
        needs=[1.0, 8.0],
        replications=50,
        jobs=jobs,
        seed=39,
        key=(6,),
    )
    for policy in (ServerFilling(), ServerFillingSRPT()):
        yield simulate_jobs(policy, drawn, 8.0, confidence=0.999).mean_response


@pytest.mark.thorough
def test_what_was_published_lies_within_the_intervals():
    for found, golden in zip(published(0.5, 500), (2.373, 2.131), strict=True):
        assert found.contains(golden)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "goldens"), [(0.5, (2.373, 2.131)), (0.6, (2.987, 2.486)), (0.7, (3.895, 2.874))]
)
def test_is_what_was_published_within_three_per_cent(load, goldens):
    for found, golden in zip(published(load, 20_000), goldens, strict=True):
        assert found.mean == pytest.approx(golden, rel=0.03)


def test_the_formula_grows_as_the_load():
    most = [server_filling_response(load, 1.0, 2.0) * (1.0 - load) for load in (0.5, 0.9)]
    assert most == pytest.approx([0.5, 0.9])
    with pytest.raises(UnstableError, match="ServerFilling"):
        server_filling_response(1.0, 1.0, 2.0)
