"""What a user wrote is shown whole in a refusal while it fits, and cut to that length where it does not."""

import pytest

from qmodels.errors import ModelError
from qmodels.io.event_kinds import event_rules
from qmodels.plotting.style import plain_text
from qmodels.policies import SpaceSharing
from qmodels.policies.choice.objectives import Constraint, Quantity
from qmodels.programs import Burst, RandomLaw
from qmodels.programs.growth import checked_growth
from qmodels.programs.laws import parse_law
from qmodels.units import byte_count, bytes_per_second, seconds


class Named:
    """Something whose `repr` is a given text."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def letters_shown(ask, count):
    with pytest.raises(ModelError) as caught:
        ask("#" * count)
    return str(caught.value).count("#")


@pytest.mark.parametrize(
    ("ask", "most"),
    [
        (byte_count, 40),
        (seconds, 40),
        (bytes_per_second, 40),
        (lambda text: bytes_per_second(f"{text}/h"), 40),
        (lambda text: bytes_per_second(f"{text}bps"), 40),
        (SpaceSharing.from_label, 40),
        (lambda text: SpaceSharing.from_label(f"2,1;{text}"), 40),
        (lambda text: event_rules([f"{text}=none", f"{text}=none"]), 40),
        (lambda text: event_rules([f"{text}=nothing"]), 40),
        (Quantity.read, 60),
        (Constraint.read, 60),
        (lambda text: Constraint.read(f"{text}<1"), 60),
    ],
)
def test_a_text_shows_its_first_letters(ask, most):
    assert [letters_shown(ask, count) for count in (most - 1, most, most + 1)] == [most - 1, most, most]


@pytest.mark.parametrize(
    ("ask", "most", "quotes"),
    [
        (lambda text: checked_growth("growth", Named(text)), 80, 0),
        (lambda text: Burst(Named(text)), 60, 0),
        (lambda text: Burst(1.0, sequential=Named(text)), 60, 0),
        (parse_law, 80, 0),
        (lambda text: RandomLaw(text, 0.5), 58, 1),
    ],
)
def test_a_text_that_is_cut_ends_in_three_dots(ask, most, quotes):
    assert letters_shown(ask, most) == most
    assert letters_shown(ask, most + 1) == most - 3 + quotes


def test_a_name_in_a_figure_is_cut_as_well():
    assert plain_text("w" * 20, 20) == "w" * 20
    assert plain_text("w" * 21, 20) == "w" * 17 + "..."
