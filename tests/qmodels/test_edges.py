"""Small promises at the edges of arguments, each of which a mutant of the core has broken unnoticed."""

import numpy as np
import pandas as pd
import pytest

from phasefit import PhaseType
from qmodels import Phase, Program
from qmodels.errors import ModelError
from qmodels.markov.sparse_rates import checked_levels
from qmodels.markov.transients import TransientSolution, transient
from qmodels.networks import CustomerClass, JobClass, MultiClassNetwork
from qmodels.policies import SpeedTable
from qmodels.programs.scaling.sizes import size_asked
from validation.sharing.simulator import _grows


def test_the_number_of_phases_that_is_no_such_number_is_named():
    with pytest.raises(ModelError, match=r"got 0\.5"):
        Program([Phase(io=1.0, cpu=1.0)] * 3).survival([2.0, 0.5])


def test_levels_below_zero_are_refused_as_levels():
    with pytest.raises(ModelError, match="with none left out"):
        checked_levels([-1, 0], 2)


def test_visits_and_routing_exclude_each_other_and_either_does():
    visits, routing = {"cpu": 1.0, "disk": 1.0}, {"cpu": {"disk": 1.0}, "disk": {"cpu": 1.0}}
    asked = {"cpu": 0.1, "disk": 0.2}
    assert CustomerClass(asked, population=2, visits=visits).demands() == pytest.approx(asked)
    assert CustomerClass(asked, population=2, routing=routing).demands() == pytest.approx(asked)
    with pytest.raises(ModelError, match="not both"):
        CustomerClass(asked, population=2, visits=visits, routing=routing)


def test_all_states_are_drawn_where_there_are_ten_at_most_the_likeliest_first():
    found = transient([[0.0, 1.0, 0.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]], [0.0, 1.0, 0.0], [0.0, 9.0])
    assert isinstance(found, TransientSolution)
    assert set(found.drawn().state) == {"state 0", "state 1", "state 2"}
    assert found.drawn().state.iloc[-1] == "state 0"  # which is never reached


def test_work_per_processor_that_differs_by_less_than_one_differs():
    frame = pd.DataFrame({"p": [4.0, 4.0], "d": [1.0, 1.0], "work": [4.0, 7.0]})
    assert size_asked("x", frame, 5.0).together is False
    weak = pd.DataFrame({"p": [2.0, 4.0], "d": [1.0, 1.0], "work": [3.0, 6.0]})
    assert size_asked("x", weak, 4.0).together is True


def test_two_replications_that_disagree_do_not_grow():
    assert not _grows(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]))
    assert _grows(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0001]]))


def test_degrees_of_freedom_of_one_number_are_those_of_the_last_speed():
    table = SpeedTable([1.0, 2.0], covariance=np.diag([0.04, 0.01]), degrees_of_freedom=3.0)
    less = table.less_sure(0.2)
    assert less.degrees_of_freedom == pytest.approx(3.0 * ((0.01 + 0.2**2 * 4.0) / 0.01) ** 2, rel=1e-12)


def test_classes_of_unlike_disk_times_have_no_product_form_whichever_is_first():
    fast, slow = (
        JobClass(2, delay=PhaseType.exponential(mean=1.0), disk=PhaseType.exponential(mean=mean))
        for mean in (0.5, 2.0)
    )
    for classes in ([fast, slow], [slow, fast]):
        assert not MultiClassNetwork(classes, discipline="fcfs").has_product_form
    assert MultiClassNetwork([fast, fast], discipline="fcfs").has_product_form
