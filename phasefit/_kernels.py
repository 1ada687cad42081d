"""Compiled kernels of phase-type laws: plain arrays in, plain arrays out.

A kernel checks nothing, raises nothing and knows no class of this package; its wrapper lives in
`sampling`.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def _drawn(cdf, rng):
    """Place that a row of cumulative probabilities leads to; without a draw if it is certain."""
    k = 0
    if cdf[0] < 1.0:
        u = rng.random()
        while u >= cdf[k]:
            k += 1
    return k


@njit(cache=True, nogil=True)
def walk_to_absorption(start_cdf, start_phase, jump_cdf, jump_phase, scale, rng, out):
    """Fill ``out`` (size,) with absorption times.

    start_cdf, start_phase (n + 1,), jump_cdf, jump_phase (n, n + 1): where the chain may go, the
    most probable place first, as cumulative probabilities that reach one at the last possible
    place; n stands for absorption. scale (n,): mean holding times in s. rng: a numpy Generator.
    """
    absorbed = scale.size
    for s in range(out.size):
        clock = 0.0
        phase = start_phase[_drawn(start_cdf, rng)]
        while phase != absorbed:
            clock += rng.standard_exponential() * scale[phase]
            phase = jump_phase[phase, _drawn(jump_cdf[phase], rng)]
        out[s] = clock


@njit(cache=True, nogil=True)
def walk_from_event_to_event(start_cdf, start_phase, jump_cdf, jump_to, scale, rng, out, marks):
    """Fill ``out`` (size,) with successive times between events, ``marks`` (size,) with their kinds.

    start_cdf, start_phase (n,), jump_cdf, jump_to (n, n + n k): as in `walk_to_absorption`; a jump
    to n + m n + j leads to phase j with an event of kind m. scale (n,): mean holding times in s.
    """
    n = scale.size
    phase = start_phase[_drawn(start_cdf, rng)]
    for s in range(out.size):
        clock = 0.0
        while True:
            clock += rng.standard_exponential() * scale[phase]
            phase = jump_to[phase, _drawn(jump_cdf[phase], rng)]
            if phase >= n:
                marks[s] = phase // n - 1
                phase %= n
                break
        out[s] = clock
