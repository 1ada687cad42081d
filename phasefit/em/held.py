"""Likelihood climbed along the surface on which given moments stay as they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phasefit.arrays import Array

#: Likelihood at logarithms of parameters (p,), its gradient and a positive curvature, both (p,).
Expect = Callable[[Array], tuple[float, Array, Array]]
#: Logarithms of what is held (k,), and their derivatives (k, p).
Held = Callable[[Array], tuple[Array, Array]]


def climb(
    expect: Expect, held: Held, theta: Array, goal: Array, gain: float, max_steps: int
) -> tuple[Array, Array, bool] | None:
    """Climb from `theta` with `held` kept at `goal`; None where the goal cannot be reached.

    Each step is that of EM, the gradient over the curvature of the complete likelihood, projected on the
    surface and brought back to it by Newton's method. It is stretched while that pays and halved until the
    likelihood rises, so the trace never falls.

    Parameters
    ----------
    expect : callable
        Likelihood at a point, its gradient and a positive curvature; see `Expect`.
    held : callable
        Logarithms of what is held at a point, and their derivatives; see `Held`.
    theta : (p,) ndarray
        Where to start: logarithms of parameters.
    goal : (k,) ndarray
        Logarithms of what is held, kept all the way.
    gain : float
        Stop when ten steps gain less than this.
    max_steps : int
        Most steps.

    Returns
    -------
    point : (p,) ndarray
        Where the climb ended.
    trace : (steps,) ndarray
        Likelihood after each step.
    settled : bool
        Whether it stopped by itself.
    """
    at = approach(held, theta, goal)
    if at is None:
        return None
    value, gradient, curvature = expect(at)
    if not value > -1e299:
        return None
    trace, stretch = [value], 1.0
    while len(trace) < max_steps:
        _, slope = held(at)
        across = slope / curvature
        pull = np.linalg.lstsq(across @ slope.T, across @ gradient, rcond=1e-13)[0]
        step = (gradient - slope.T @ pull) / curvature
        rise = float(gradient @ step)
        moved = None
        while rise > 0.0 and stretch > 1e-10:
            length = min(stretch, 3.0 / max(float(np.abs(step).max()), 1e-300))
            there = onto(held, at + length * step, goal, curvature)
            if there is not None:
                ahead = expect(there)
                if ahead[0] >= value + 1e-4 * length * rise:
                    moved = there
                    break
            stretch *= 0.5
        if moved is None:  # no rise that a float could show is left
            return at, np.array(trace), True
        at, (value, gradient, curvature) = moved, ahead
        trace.append(value)
        stretch = min(2.0 * stretch, 1e4)
        if len(trace) > 10 and trace[-1] - trace[-11] <= gain:
            return at, np.array(trace), True
    return at, np.array(trace), False


def approach(held: Held, theta: Array, goal: Array) -> Array | None:
    """Bring `theta` to where `held` is at `goal`, by small steps of the goal.

    Parameters
    ----------
    held : callable
        Logarithms of what is held at a point, and their derivatives; see `Held`.
    theta : (p,) ndarray
        Where to start: logarithms of parameters.
    goal : (k,) ndarray
        Logarithms wanted.

    Returns
    -------
    (p,) ndarray or None
        The point; None where it is not reached.
    """
    even = np.ones_like(theta)
    here, _ = held(theta)
    for pieces in (1, 8, 64):
        at: Array | None = theta
        for k in range(1, pieces + 1):
            if at is not None:
                at = onto(held, at, here + (goal - here) * (k / pieces), even)
        if at is not None:
            return at
    return None


def onto(held: Held, theta: Array, goal: Array, curvature: Array) -> Array | None:
    """Find the point near `theta` where `held` is at `goal`, by Newton's method.

    Parameters
    ----------
    held : callable
        Logarithms of what is held at a point, and their derivatives; see `Held`.
    theta : (p,) ndarray
        Where to start: logarithms of parameters.
    goal : (k,) ndarray
        Logarithms wanted.
    curvature : (p,) ndarray
        Measure of distance: the curvature of the complete likelihood.

    Returns
    -------
    (p,) ndarray or None
        The point; None where Newton's method fails.
    """
    best = np.inf
    for _ in range(40):
        if not np.abs(theta).max() < 100.0:
            return None
        values, slope = held(theta)
        miss = goal - values
        distance = float(np.abs(miss).max())
        if distance < 1e-13 and distance >= 0.5 * best:
            return theta
        best = min(best, distance)
        across = slope / curvature
        pull = np.linalg.lstsq(across @ slope.T, miss, rcond=1e-13)[0]
        move = across.T @ pull
        size = float(np.abs(move).max())
        theta = theta + move * min(1.0, 2.0 / size if size > 0.0 else 1.0)
    return theta if best < 1e-12 else None
