"""Pods of blocks, and the mixes of slices that jobs ask of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phasefit.checks import boolean, check_fields, positive_vector, suggestion, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.allocation import near_cubic, orientations
from validation.mesh import Mesh, Sides

Shape = tuple[int, int, int]

#: Blocks of the largest pod that is played, and chips of the largest block.
MOST_BLOCKS: Final = 4096
MOST_CHIPS: Final = 512


def as_shape(name: str, sides: Sequence[int] | str) -> Shape:
    """Three whole numbers, or text such as "4x4x8".

    Raises
    ------
    ModelError
        If that is no shape.

    Examples
    --------
    >>> as_shape("slice", "2x2x4"), as_shape("slice", [2, 2, 4])
    ((2, 2, 4), (2, 2, 4))
    """
    if isinstance(sides, str):
        if not re.fullmatch(r"\s*\d{1,9}(\s*[x×]\s*\d{1,9}){2}\s*", sides):
            raise ModelError(f"{name} must be three sides such as 4x4x8, got {sides!r:.60}")
        given: Sequence[int] = [int(side) for side in re.findall(r"\d+", sides)]
    else:
        given = sides
    try:
        checked = tuple(whole_number(f"a side of {name}", side, least=1) for side in given)
    except TypeError:
        raise ModelError(f"{name} must be three sides such as (4, 4, 8), got {sides!r:.60}") from None
    if len(checked) != 3:
        raise ModelError(f"{name} must be three sides such as (4, 4, 8), got {sides!r:.60}")
    return checked


def in_text(shape: Sequence[int]) -> str:
    """A shape as people write it.

    Examples
    --------
    >>> in_text((4, 4, 8))
    '4x4x8'
    """
    return "x".join(map(str, shape))


@dataclass(frozen=True)
class Pod(Record):
    """Blocks of chips in a box, joined along three axes, or through a switch.

    Parameters
    ----------
    blocks : (int, int, int)
        Blocks along x, y and z.
    wrap : bool
        Whether the sides close to rings, so that a slice may reach over an end and go on at the
        other.
    switch : bool
        Whether a switch joins any blocks to a slice, wherever they lie.
    block : (int, int, int)
        Chips of a block along x, y and z. By default one: slices are then given in blocks.
        Otherwise they are given in chips: whole blocks, or a part of one block, inside which
        nothing wraps.
    turning : bool
        Whether a slice may be turned.

    Raises
    ------
    ModelError
        If a side is no whole number >= 1, or there are more than 4,096 blocks or 512 chips in one.

    Examples
    --------
    >>> pod = Pod((4, 4, 4))
    >>> pod.count, Pod((4, 4, 4), block=(4, 4, 4)).chips
    (64, 4096)
    >>> pod.turns((1, 1, 2))
    ((1, 1, 2), (1, 2, 1), (2, 1, 1))
    """

    blocks: Shape
    wrap: bool = True
    switch: bool = False
    block: Shape = (1, 1, 1)
    turning: bool = True

    def __post_init__(self) -> None:
        check_fields(self, as_shape, "blocks", "block")
        check_fields(self, boolean, "wrap", "switch", "turning")
        if self.count > MOST_BLOCKS:
            raise ModelError(
                f"a pod of {in_text(self.blocks)} has {self.count:,} blocks; at most "
                f"{MOST_BLOCKS:,} are played. Take larger blocks"
            )
        if math.prod(self.block) > MOST_CHIPS:
            raise ModelError(
                f"a block of {in_text(self.block)} has {math.prod(self.block):,} chips; at most "
                f"{MOST_CHIPS} are allowed"
            )

    @property
    def sides(self) -> Sides:
        """Blocks along x, y and z."""
        return Sides(*self.blocks)

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return math.prod(self.blocks)

    @property
    def chips(self) -> int:
        """How many chips there are, in all blocks."""
        return self.count * math.prod(self.block)

    @property
    def mesh(self) -> Mesh:
        """The blocks as a mesh, for its pictures and its kernels."""
        return Mesh.of_sides(self.sides, torus=self.wrap)

    def is_small(self, shape: Shape) -> bool:
        """Whether a slice is a part of one block."""
        inside = any(turned.fit(Sides(*self.block)) for turned in orientations(Sides(*shape)))
        return inside and math.prod(shape) < math.prod(self.block)

    def turns(self, shape: Shape, *, anywhere: bool = False) -> tuple[Shape, ...]:
        """How a slice may lie: its sides in blocks, or in chips where it is a part of a block.

        Parameters
        ----------
        shape : (int, int, int)
            Of the slice, in chips.
        anywhere : bool
            Whether its blocks may be any, as behind a switch; only their number counts then.

        Raises
        ------
        ModelError
            If it fits in no direction, or is neither whole blocks nor inside one.
        """
        own = Sides(*as_shape("slice", shape))
        ways = orientations(own) if self.turning else (own,)
        if self.is_small(own):
            found = [turned for turned in ways if turned.fit(Sides(*self.block))]
        else:
            whole = [turned for turned in ways if not any(np.mod(turned, self.block))]
            if not whole:
                up = [-(-side // one) * one for side, one in zip(own, self.block, strict=True)]
                raise ModelError(
                    f"a slice of {in_text(own)} is neither whole blocks of {in_text(self.block)} "
                    f"nor inside one; the next larger one is {in_text(up)}"
                )
            in_blocks = [
                Sides(*(side // one for side, one in zip(turned, self.block, strict=True)))
                for turned in whole
            ]
            if anywhere and in_blocks[0].nodes <= self.count:
                return ((in_blocks[0].x, in_blocks[0].y, in_blocks[0].z),)
            found = [turned for turned in in_blocks if turned.fit(self.sides)]
        if not found:
            chips = [a * b for a, b in zip(self.blocks, self.block, strict=True)]
            larger = "is larger than" if math.prod(own) > self.chips else "does not fit into"
            raise ModelError(
                f"a slice of {in_text(own)} {larger} a pod of {in_text(chips)}"
                f"{' in any direction' if self.turning else ''}"
            )
        return tuple((turned.x, turned.y, turned.z) for turned in dict.fromkeys(found))

    def slice_of(self, chips: int) -> Shape:
        """The slice for so many chips: the least box that holds them, nearest to a cube.

        Up to a block's chips it is a box inside one block, beyond that whole blocks; of all boxes
        with at least so many the one with the fewest, of those with as many the one with the least
        surface.

        Raises
        ------
        ModelError
            If there are more than the pod has.

        Examples
        --------
        >>> Pod((4, 4, 4)).slice_of(7), Pod((4, 4, 4)).slice_of(17)
        ((2, 2, 2), (3, 3, 2))
        >>> Pod((2, 2, 2), block=(4, 4, 4)).slice_of(65)
        (8, 4, 4)
        """
        wanted = whole_number("chips", chips, least=1)
        if wanted > self.chips:
            raise ModelError(f"{wanted:,} chips are more than the {self.chips:,} of the pod")
        inside = math.prod(self.block)
        if wanted < inside:
            within, one = Sides(*self.block), (1, 1, 1)
        else:
            within, one, wanted = self.sides, self.block, -(-wanted // inside)
        while (found := near_cubic(wanted, within)) is None:
            wanted += 1
        x, y, z = (side * own for side, own in zip(found, one, strict=True))
        return x, y, z


#: Mixes by name, in blocks: shape and weight.
MIXES: Final[dict[str, tuple[tuple[Shape, float], ...]]] = {
    "halving": (
        ((1, 1, 1), 32.0),
        ((1, 1, 2), 16.0),
        ((1, 2, 2), 8.0),
        ((2, 2, 2), 4.0),
        ((2, 2, 4), 2.0),
        ((2, 4, 4), 1.0),
    ),
}


@dataclass(frozen=True)
class SliceMix(Record):
    """Which slices jobs ask for, how often, and how long they hold them.

    Parameters
    ----------
    shapes : sequence of (int, int, int)
        Different slices, in chips (in blocks where a block is one chip).
    weights : sequence of float, optional
        Shares of the jobs, up to a factor; by default equal.
    means : sequence of float, optional
        Mean time that a job of each holds its slice, seconds; by default 1.
    name : str
        For titles.

    Raises
    ------
    ModelError
        If there is no shape, one comes twice, or a number is not positive.

    Examples
    --------
    >>> mix = SliceMix.of("1x1x1:3, 2x2x2", Pod((4, 4, 4)))
    >>> mix.weights, mix.mean_chips
    ((0.75, 0.25), 2.75)
    """

    shapes: tuple[Shape, ...]
    weights: tuple[float, ...] = ()
    means: tuple[float, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        shapes = tuple(as_shape(f"shapes[{i}]", shape) for i, shape in enumerate(self.shapes))
        if not shapes:
            raise ModelError("a mix needs at least one shape")
        if len({tuple(sorted(shape)) for shape in shapes}) < len(shapes):
            twice = next(s for i, s in enumerate(shapes) if sorted(s) in map(sorted, shapes[:i]))
            raise ModelError(f"the slice {in_text(twice)} comes twice in the mix; add its weights")
        object.__setattr__(self, "shapes", shapes)
        for key in ("weights", "means"):
            given = getattr(self, key)
            values = positive_vector(key, np.asarray(given, float)) if len(given) else None
            if values is None:
                values = np.ones(len(shapes))
            if values.size != len(shapes):
                raise ModelError(f"{len(shapes)} shapes need as many {key}, got {values.size}")
            if key == "weights":
                values = values / values.sum()
            object.__setattr__(self, key, tuple(values.tolist()))

    @classmethod
    def of(cls, mix: SliceMix | str, pod: Pod) -> SliceMix:
        """A mix from its name, or from shapes and weights such as "1x1x1:3,2x2x2:1".

        Raises
        ------
        ModelError
            If that names no mix, or a slice of it does not fit the pod.
        """
        if not isinstance(mix, SliceMix):
            if not isinstance(mix, str):
                raise ModelError(f"a mix is a SliceMix or text, got {mix!r:.60}")
            known = MIXES.get(mix.strip().lower())
            if known is not None:
                scaled = [tuple(a * b for a, b in zip(s, pod.block, strict=True)) for s, _ in known]
                mix = cls(tuple(scaled), tuple(weight for _, weight in known), name=mix.strip())  # type: ignore[arg-type]
            elif re.search(r"\d\s*[x×]\s*\d", mix):
                mix = cls._parsed(mix)
            else:
                raise ModelError(
                    f"no mix is called {mix!r:.60}; {suggestion(mix, list(MIXES), 'there are')}, "
                    "or write shapes and weights: 1x1x1:3,2x2x2:1"
                )
        for shape in mix.shapes:
            pod.turns(shape, anywhere=True)
        return mix

    @classmethod
    def _parsed(cls, text: str) -> SliceMix:
        shapes, weights = [], []
        for part in text.split(","):
            shape, colon, weight = part.partition(":")
            shapes.append(as_shape("a slice of the mix", shape))
            try:
                weights.append(float(weight) if colon else 1.0)
            except ValueError:
                raise ModelError(f"{part.strip()!r:.60} in the mix: {weight!r} is no weight") from None
        return cls(tuple(shapes), tuple(weights), name=text.replace(" ", ""))

    @property
    def volumes(self) -> tuple[int, ...]:
        """Chips of each shape."""
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def mean_chips(self) -> float:
        """Chips that a job asks for, on average."""
        return float(np.dot(self.weights, self.volumes))

    @property
    def mean_work(self) -> float:
        """Chip-seconds of a job, on average."""
        return float(np.sum(np.multiply(np.multiply(self.weights, self.volumes), self.means)))

    def arrival_rate(self, pod: Pod, load: float) -> float:
        """Jobs per second that ask for a share `load` of all chips."""
        return load * pod.chips / self.mean_work
