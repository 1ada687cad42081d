"""Speedups larger than the number of processors, and where they come from."""

from __future__ import annotations

import numpy as np

from qmodels.programs.model import AbstractProgram
from qmodels.programs.speedup import SpeedupSurface
from qmodels.words import allotment_counted, allotment_in_words, counted

#: A speedup this much above the number of processors is worth a word: every disk more than one
#: makes a single processor a little faster than itself.
_WORTH = 1.01
#: A gain this much above it is more than rounding.
_MORE = 1.0 + 1e-9


def superlinear(program: AbstractProgram, surface: SpeedupSurface) -> str:
    """Return why a surface holds a speedup above its number of processors; "" where it holds none.

    Parameters
    ----------
    program : AbstractProgram
        The one that the surface is of.
    surface : SpeedupSurface
        The surface.

    Returns
    -------
    str
        A sentence on the largest speedup, if that is above the number of its processors by a per
        cent, else on the one that exceeds them most.

    Notes
    -----
    Speedup is the time on one processor and one disk over that on p and d, so it is a mean of
    what computation and I/O gain, weighted by their times on (p, d). One above p needs a
    computation that gains more than p, which costs fewer processor-seconds on many processors
    than on one, or an I/O that gains more than p, from disks as well as from processors.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> reader = Program([Phase(io=90.0, cpu=10.0)])
    >>> print(superlinear(reader, speedup_surface(reader, [1, 2], [1, 8])))
    A speedup of 6.15 on 2 processors and 8 disks is more than the processors alone could give: \
speedup is against one processor and one disk, and the I/O is 8 times as fast on 8 disks.
    >>> superlinear(reader, speedup_surface(reader, [1, 2, 4], [1]))
    ''
    """
    base = surface.base
    # On fewer processors than the base each is worth more wherever a program scales less than perfectly.
    ratio = surface.speedup / np.maximum(surface.processors / base[0], 1.0)[:, None]
    if not (ratio > _WORTH).any():
        return ""
    at = np.unravel_index(int(np.argmax(surface.speedup)), ratio.shape)
    if ratio[at] <= _WORTH:
        at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    p, d = float(surface.processors[at[0]]), float(surface.disks[at[1]])
    reasons = []
    cpu = _times_as_fast(float(program.mean_cpu(*base)), float(program.mean_cpu(p, d)))
    io = _times_as_fast(float(program.mean_io(*base)), float(program.mean_io(p, d)))
    share = p / base[0]
    if io > share * _MORE:
        reasons.append(f"the I/O is {io:.3g} times as fast on {counted(d, 'disk')}")
    if cpu > share * _MORE:
        reasons.append(
            f"the computation takes {cpu / share:.3g} times the processor-seconds on "
            f"{counted(base[0], 'processor') if base[0] > 1.0 else 'one processor'} "
            f"that it takes on {p:g}, as where a program is slowed on few processors"
        )
    return (
        f"A speedup of {surface.speedup[at]:.3g} on {allotment_counted(p, d)} "
        f"is more than the processors alone could give: speedup is against "
        f"{allotment_in_words(base)}, and {' and '.join(reasons)}."
    )


def _times_as_fast(on_one: float, on_many: float) -> float:
    """Return how many times as fast; 0 where there is nothing to do."""
    return on_one / on_many if on_many > 0.0 else 0.0
