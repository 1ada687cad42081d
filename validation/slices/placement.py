"""Strategies by name, and the tables that the compiled event loop works on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from phasefit.checks import spelled, suggestion
from qmodels.errors import ModelError
from validation.allocation.contiguous import BF, FF, TBF, TFF
from validation.allocation.curves import hilbert_curve_in_space
from validation.allocation.searches import words_for_room
from validation.jobs.disciplines import EASY, FCFS, EASYPlaces, FirstFit, Loss
from validation.slices import _kernels as kernels
from validation.slices.pod import Pod, Shape


class Strategy(NamedTuple):
    """One strategy of slices."""

    code: int  #: what the kernel calls it
    says: str  #: what it gives
    turns: bool | None = None  #: whether it turns boxes; None: where the pod's slices may be turned


#: Strategies by name; those that `validation.allocation` has as well mean the same there.
STRATEGIES: Final = {
    "any-blocks": Strategy(kernels.ANY, "any free blocks, joined by a switch"),
    FF.name: Strategy(kernels.FIRST, "the first free box in scan order", turns=False),
    TFF.name: Strategy(kernels.FIRST, "the first free box, turned until there is one", turns=True),
    BF.name: Strategy(kernels.BEST, "the free box that touches most busy blocks and walls", turns=False),
    TBF.name: Strategy(kernels.BEST, "such a box, turned until there is one", turns=True),
    "aligned": Strategy(kernels.ALIGNED, "the first free box at a multiple of its sides"),
    "MFP": Strategy(kernels.ROOMIEST, "the box that leaves the largest free box"),
    "3d-torus": Strategy(
        kernels.CURVE, "the shortest run of free blocks on Hilbert's curve, else the nearest ones"
    ),
    "block": Strategy(kernels.RUNS, "free blocks of one aligned run of 2^m blocks"),
}
#: Disciplines of `QUEUE_DISCIPLINES` that the compiled loop knows.
DISCIPLINES: Final[dict[str, int]] = {
    Loss.name: kernels.LOSS,
    FCFS.name: kernels.FCFS,
    FirstFit.name: kernels.FIRST_FIT,
    EASYPlaces.name: kernels.EASY,
}
#: What leaves the largest free box is looked for at every base: at most in so many blocks.
_MOST_FOR_ROOM: Final = 512


def strategy_name(name: str) -> str:
    """A strategy as it is spelled here, from its name in any case.

    Raises
    ------
    ModelError
        If there is none.

    Examples
    --------
    >>> strategy_name("ANY-blocks"), strategy_name("mfp")
    ('any-blocks', 'MFP')
    """
    return _spelled("strategy", name, STRATEGIES)


def discipline_name(name: str) -> str:
    """A discipline as it is spelled here, from its name in any case.

    Raises
    ------
    ModelError
        If there is none, or it counts nodes, of which a pod has none but in places.
    """
    if isinstance(name, str) and name.strip().upper() == EASY.name:
        raise ModelError(
            f"{EASY.name} counts free nodes, and a pod reserves places: did you mean {EASYPlaces.name!r}?"
        )
    return _spelled("discipline", name, DISCIPLINES)


def _spelled(what: str, name: str, known: Iterable[str]) -> str:
    if (found := spelled(name, known)) is not None:
        return found
    raise ModelError(f"no {what} of slices is called {name!r:.60}; {suggestion(str(name), known, 'known:')}")


def usual_strategies(pod: Pod) -> tuple[str, ...]:
    """Return the strategies that are compared where none are named.

    Examples
    --------
    >>> usual_strategies(Pod((4, 4, 4)))
    ('any-blocks', 'TFF', 'TBF', 'aligned', 'block')
    """
    boxes = (TFF, TBF) if pod.turning else (FF, BF)
    return ("any-blocks", *(each.name for each in boxes), "aligned", "block")


def usual_strategy(pod: Pod) -> str:
    """Return the strategy of a pod where none is named."""
    return usual_strategies(pod)[0 if pod.switch else 1]


def is_contiguous(strategy: str) -> bool:
    """Whether a strategy gives boxes."""
    return STRATEGIES[strategy].code < kernels.ANY


def place_of(pod: Pod, shapes: Sequence[Shape], strategy: str) -> kernels.Place:
    """The tables of a pod, its strategy and its classes.

    Raises
    ------
    ModelError
        If a shape does not fit, the pod is too large for the strategy, or its slices may not be
        turned and the strategy turns them.
    """
    code, _, turns_boxes = STRATEGIES[strategy]
    if turns_boxes and not pod.turning:
        raise ModelError(f"{strategy} turns slices, which this pod does not let: use {strategy[1:]}")
    if turns_boxes is False:
        pod = replace(pod, turning=False)
    if code == kernels.ROOMIEST and pod.count > _MOST_FOR_ROOM:
        raise ModelError(
            f"MFP looks for what is left at every base: at most in {_MOST_FOR_ROOM} blocks, this "
            f"pod has {pod.count:,}"
        )
    turns = np.ones((len(shapes), 6, 3), np.int64)
    ways, volume = np.zeros(len(shapes), np.int64), np.zeros(len(shapes), np.int64)
    small = np.array([pod.is_small(shape) for shape in shapes])
    for c, shape in enumerate(shapes):
        found = pod.turns(shape, anywhere=code >= kernels.ANY)
        ways[c], volume[c] = len(found), math.prod(found[0])
        turns[c, : len(found)] = found
    order = (hilbert_curve_in_space(pod.sides) if code == kernels.CURVE else np.arange(pod.count)).astype(
        np.int64
    )
    return kernels.Place(pod.blocks, pod.block, pod.wrap, code, order, small, volume, ways, turns)


def nothing_held(pod: Pod) -> kernels.Held:
    """An empty pod, with room for working."""
    chips = math.prod(pod.block)
    busy = np.zeros(pod.count, np.bool_)
    # Rows and sums of what a slice may reach over the ends; blocks themselves never wrap.
    x, y, z = (max(2 * a, b) for a, b in zip(pod.blocks, pod.block, strict=True))
    room = max(words_for_room(pod.blocks, pod.wrap), words_for_room(pod.block, False))
    return kernels.Held(
        busy,
        np.full(pod.count, -1, np.int64),
        np.zeros((pod.count, chips), np.bool_),
        np.full((pod.count, chips), -1, np.int64),
        np.zeros(pod.count, np.int64),
        np.array([pod.count, pod.chips], np.int64),
        np.zeros(6, np.int64),
        np.zeros((x + 63) // 64 * y * z, np.uint64),
        np.zeros((x + 3) * (y + 3) * (z + 3), np.int32),
        np.zeros(room, np.uint64),
        np.zeros(max(pod.count, chips), np.int64),
    )
