import numpy as np
import pytest

from tests.little_work import TooMuchWork, little_work


def test_a_loop_that_goes_on_is_broken_off():
    def goes_on():
        while True:
            np.zeros(3)

    with pytest.raises(TooMuchWork, match="more than 1,000 calls"), little_work(calls=1000):
        goes_on()


def test_little_is_little_and_what_profiled_before_profiles_on():
    with little_work(calls=1000):
        assert sum(np.ones(100)) == 100.0
    with pytest.raises(ValueError, match="own"), little_work(calls=1000):
        raise ValueError("its own error")
