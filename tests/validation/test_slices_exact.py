"""Slices without simulation: losses, the queue of any blocks, availability; golden numbers."""

import numpy as np
import pytest
from scipy.special import factorial

from qmodels import ModelError
from qmodels.errors import MemoryBudgetError, UnstableError
from validation import Pod, SliceMix, slice_availability, slice_losses, slice_queue

LINE, TWO = ((1, 1, 1), (2, 1, 1)), (1.0, 0.6)


def test_losses_of_any_blocks_are_the_golden_ones():
    found = slice_losses(Pod((4, 1, 1), switch=True), LINE, TWO)
    assert found.refused == pytest.approx((0.11887581, 0.29358147), abs=5e-9)
    cube = slice_losses(Pod((4, 4, 4), switch=True), "halving", 0.7)
    expected = (0.011301, 0.023058, 0.047956, 0.103356, 0.236286, 0.597068)
    assert cube.refused == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("pod", "shapes", "loads", "refused"),
    [
        (Pod((4, 1, 1)), LINE, TWO, (0.11412217, 0.31013569)),
        (Pod((4, 1, 1), wrap=False), LINE, TWO, (0.10504400, 0.33827939)),
        (
            Pod((2, 2, 2)),
            ((1, 1, 1), (1, 1, 2), (1, 2, 2)),
            (1.5, 0.8, 0.4),
            (0.04996204, 0.14759473, 0.46743528),
        ),
    ],
)
def test_losses_of_boxes_are_the_golden_ones(pod, shapes, loads, refused):
    assert slice_losses(pod, shapes, loads).refused == pytest.approx(refused, abs=5e-9)


def test_single_blocks_are_erlangs_formula_whatever_the_strategy():
    terms = 3.0 ** np.arange(7) / factorial(np.arange(7))
    for strategy in ("any-blocks", "TFF", "TBF", "aligned", "MFP", "3d-torus", "block"):
        found = slice_losses(Pod((3, 2, 1)), [(1, 1, 1)], [3.0], strategy=strategy)
        assert found.refused[0] == pytest.approx(terms[-1] / terms.sum(), rel=1e-10)


@pytest.mark.parametrize("strategy", ["TFF", "TBF", "aligned", "MFP", "block"])
def test_what_is_asked_is_held_or_refused(strategy):
    """Little's law of the blocks held, for every strategy, with times of two means."""
    found = slice_losses(
        Pod((2, 2, 1)), [(1, 1, 1), (2, 1, 1)], [0.7, 0.5], strategy=strategy, means=[1.0, 3.0]
    )
    carried = sum(a * s * (1.0 - r) for a, s, r in zip(found.loads, (1, 2), found.refused, strict=True))
    assert found.utilisation == pytest.approx(carried / 4, rel=1e-10)


def test_the_queue_of_any_blocks_is_the_golden_one():
    pair = slice_queue(Pod((2, 1, 1)), SliceMix(LINE), 0.5)
    assert pair.largest_utilisation == pytest.approx(6 / 7, rel=1e-12)
    assert pair.wait == pytest.approx(1.27860564, abs=5e-9)
    eight = slice_queue(Pod((8, 1, 1)), "1x1x1:.8, 4x1x1:.2", 0.6)
    assert eight.wait == pytest.approx(0.62270076, abs=5e-9)


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_queue_of_single_blocks_is_erlangs(blocks):
    load = 0.7
    a = load * blocks
    terms = a ** np.arange(blocks) / factorial(np.arange(blocks))
    last = a**blocks / factorial(blocks) / (1 - load)
    wait = last / (terms.sum() + last) / (blocks * (1 - load))
    found = slice_queue(Pod((blocks, 1, 1)), "1x1x1", load)
    assert found.wait == pytest.approx(wait, rel=1e-10)
    assert found.largest_utilisation == pytest.approx(1.0, rel=1e-12)


def test_means_of_slices_matter_where_they_differ():
    """Two slices of one size and one mean are one class; with other means they are not."""
    pod = Pod((4, 2, 1))
    same = slice_queue(pod, SliceMix(((4, 1, 1), (2, 2, 1)), (1, 1), (2.0, 2.0)), 0.5)
    one = slice_queue(pod, SliceMix(((4, 1, 1),), (1,), (2.0,)), 0.5)
    assert same.wait == pytest.approx(one.wait, rel=1e-10)
    other = slice_queue(pod, SliceMix(((4, 1, 1), (2, 2, 1)), (1, 1), (1.0, 3.0)), 0.5)
    assert other.wait > 1.05 * one.wait


@pytest.mark.parametrize(
    ("host", "size", "any_blocks", "fixed"),
    [
        (0.99, 16, 0.747358, 0.076315),
        (0.99, 32, 0.500017, 0.005824),
        (0.999, 16, 0.839743, 0.774043),
    ],
)
def test_availability_is_the_golden_one(host, size, any_blocks, fixed):
    found = slice_availability(Pod((4, 4, 4)), size, host=host)
    assert (found.any_blocks, found.fixed_places) == pytest.approx((any_blocks, fixed), abs=5e-7)


def test_availability_of_a_slice_of_chips_is_that_of_its_blocks():
    pod = Pod((4, 4, 4), block=(4, 4, 4))
    assert slice_availability(pod, (8, 8, 16)) == slice_availability(pod, 16)
    assert slice_availability(pod, 64, host=1.0).any_blocks == pytest.approx(1.0)
    assert slice_availability(pod, 1, host=0.0).any_blocks == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: slice_losses(Pod((4, 1, 1)), LINE, [1.0]), "as many loads"),
        (lambda: slice_losses(Pod((4, 1, 1)), LINE, [1.0, -1.0]), r"loads\[1\] must be > 0"),
        (lambda: slice_losses(Pod((4, 1, 1)), [(5, 1, 1)], [1.0]), "is larger than a pod"),
        (lambda: slice_losses(Pod((2, 1, 1), block=(2, 2, 2)), [(1, 1, 1)], [1.0]), "part of a"),
        (lambda: slice_losses(Pod((4, 4, 4)), "halving", [1.0]), "takes one load"),
        (lambda: slice_availability(Pod((4, 4, 4)), 65), "more than the pod's 64"),
        (lambda: slice_availability(Pod((4, 4, 4)), 16, host=1.5), "host must be"),
        (lambda: slice_queue(Pod((2, 1, 1), block=(2, 2, 2)), "1x1x1"), "part of a block"),
    ],
)
def test_bad_calls_are_refused_in_words(call, message):
    with pytest.raises(ModelError, match=message):
        call()


def test_a_load_beyond_the_largest_utilisation_has_no_queue():
    with pytest.raises(UnstableError, match=r"stable only below load 0\.857143"):
        slice_queue(Pod((2, 1, 1)), SliceMix(LINE), 0.86)


def test_chains_that_are_too_large_are_refused_before_they_take_long():
    with pytest.raises(MemoryBudgetError, match="Simulate instead"):
        slice_queue(Pod((4, 4, 4)), "halving", 0.5)
