"""GREEDY: where processors go, and that it is no later than equal shares."""

import numpy as np
import pytest

from validation.malleable import InSystem, random_jobs, simulate_jobs
from validation.malleable.jobs import inelastic, power
from validation.malleable.policies.equal_shares import EqualShares
from validation.malleable.policies.greedy import Greedy


def system_of(*curve, processors=4.0):
    shape = (1, len(curve))
    return InSystem(
        processors,
        np.ones(shape, bool),
        np.arange(len(curve))[None, :],
        np.ones(shape),
        np.array([curve]),
        np.ones(shape),
        (inelastic, power(0.5)),
    )


def test_processors_go_where_they_gain_most_and_the_first_ones_where_less_is_parallel():
    assert Greedy().shares(system_of(1, 0, 0)).tolist() == [[2.0, 1.0, 1.0]]
    assert Greedy().shares(system_of(1, 1, 0)).tolist() == [[2.0, 1.0, 1.0]]
    assert Greedy().shares(system_of(1, 0, 0, 0, 0)).tolist() == [[0.0, 1.0, 1.0, 1.0, 1.0]]


@pytest.mark.thorough
def test_it_is_no_later_than_equal_shares_of_two_curves():
    jobs = random_jobs(
        2.6,
        [(1.0, [(1.0, 0)]), (1.0, [(1.0, 1)])],
        (power(0.3), power(0.9)),
        replications=40,
        jobs=300,
        seed=39,
        key=(4,),
    )
    greedy, equal = (np.array(simulate_jobs(each, jobs, 4.0).responses) for each in (Greedy(), EqualShares()))
    gain = equal - greedy
    assert gain.mean() > 3.0 * gain.std(ddof=1) / np.sqrt(gain.size)
