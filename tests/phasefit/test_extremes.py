import numpy as np
import pytest

from phasefit import Extreme, ModelError, PhaseType, maximum, minimum

E3 = PhaseType.erlang(phases=3, mean=2.0)
H2 = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 8.0])
X = np.array([1e-6, 0.01, 0.5, 2.0, 10.0, 60.0, 200.0])


@pytest.mark.parametrize(("largest", "chain"), [(True, maximum(E3, H2, E3)), (False, minimum(E3, H2, E3))])
class TestBesideTheChain:
    def test_functions_of_time_agree_in_both_tails(self, largest, chain):
        parts = Extreme([E3, H2, E3], largest=largest)
        for name in ("sf", "cdf", "pdf"):
            ours, theirs = getattr(parts, name)(X), getattr(chain, name)(X)
            assert ours == pytest.approx(theirs, rel=1e-9, abs=0), name

    def test_moments_and_quantiles_agree(self, largest, chain):
        parts = Extreme([E3, H2, E3], largest=largest)
        for k in (1, 2, 3):
            assert parts.moment(k) == pytest.approx(chain.moment(k), rel=1e-10)
        q = np.array([1e-9, 0.1, 0.5, 0.9, 0.999999])
        assert parts.ppf(q) == pytest.approx(chain.ppf(q), rel=1e-8, abs=0)

    def test_the_order_is_that_of_the_chain(self, largest, chain):
        assert Extreme([E3, H2, E3], largest=largest).order == chain.order


def test_the_slowest_of_a_thousand_exponentials_takes_the_harmonic_number():
    law = PhaseType.exponential(mean=3.0)
    whole = Extreme([law] * 1000, largest=True)
    assert whole.mean == pytest.approx(3.0 * np.sum(1.0 / np.arange(1, 1001)), rel=1e-10)
    assert Extreme([law] * 1000, largest=False).mean == pytest.approx(0.003, rel=1e-10)
    assert whole.order == 2**1000 - 1


@pytest.mark.parametrize("largest", [True, False])
def test_moments_are_those_of_the_chain_also_where_times_are_many_decades_apart(largest):
    rare = PhaseType.hyperexponential(weights=[1.0 - 1e-8, 1e-8], means=[1.0, 1e9])
    half = PhaseType.from_rates([0.5], [[0.0]], [1e-9], atom=0.5)  # its median is zero
    chain = (maximum if largest else minimum)(rare, half)
    law = Extreme([rare, half], largest=largest)
    assert [law.moment(k) for k in (1, 2, 3)] == pytest.approx(chain.moments(3), rel=1e-9)


def test_draws_agree_with_the_cdf(rng):
    law = Extreme([E3, H2], largest=True)
    draws = law.rvs(size=20_000, random_state=rng)
    for x in (1.0, 3.0, 8.0):
        p = law.cdf(x)
        assert abs((draws <= x).mean() - p) < 4 * (p * (1 - p) / draws.size) ** 0.5


def test_a_chain_too_large_to_build_says_to_keep_the_parts():
    with pytest.raises(ModelError, match="Extreme"):
        maximum(*[E3] * 12)


@pytest.mark.parametrize("laws", [[], None, [1.0], E3])
def test_what_is_no_list_of_laws_is_refused(laws):
    with pytest.raises(ModelError, match="laws"):
        Extreme(laws, largest=True)


def test_arguments_out_of_range_are_refused():
    law = Extreme([E3], largest=True)
    for question in (
        lambda: law.ppf(1.5),
        lambda: law.sf(np.nan),
        lambda: law.moment(-1),
        lambda: Extreme([E3], largest=None),
    ):
        with pytest.raises(ModelError):
            question()
    assert (law.ppf(0.0), law.ppf(1.0)) == (0.0, np.inf)
