"""Compiled kernels of the EM climbs: plain arrays in, plain arrays out.

A kernel checks nothing, raises nothing and knows no class of this package; its wrapper lives in
`erlang` or `general`.
"""

from __future__ import annotations

from math import exp, expm1, lgamma, log, log1p, sqrt

import numpy as np
from numba import njit

from phasefit.compiled import COMPILED


@njit(cache=True, nogil=True)
def erlang_between(lo, hi, phases, rate, out):
    """Erlang law on (lo, hi]: into ``out`` (2,) the log probability and the mean given that.

    Conditioning on the phases left behind at ``lo`` makes every term non-negative, so a narrow
    interval or a far tail costs no digits.
    """
    at, span = rate * lo, rate * (hi - lo)
    r = phases
    done = np.ones(r + 2)  # probability that m phases end within the span
    if span < 700.0:
        term = exp(-span)
        below = 0.0
        done[0] = 1.0
        pmf = np.empty(r + 1)
        for m in range(r + 1):
            pmf[m] = term
            below += term
            term *= span / (m + 1)
        if span > r + 1:
            done[r + 1] = 1.0 - below
        else:
            total = 0.0
            k = r + 1
            while term > 1e-17 * total and term > 0.0:
                total += term
                k += 1
                term *= span / k
            done[r + 1] = total
        for m in range(r, 0, -1):
            done[m] = min(done[m + 1] + pmf[m], 1.0)
    if at > 0.0:
        # Poisson weights of k phases behind, relative to the largest of k <= r.
        top = min(int(at), r)
        weight = np.empty(r + 1)
        weight[top] = 1.0
        for k in range(top, 0, -1):
            weight[k - 1] = weight[k] * k / at
        for k in range(top, r):
            weight[k + 1] = weight[k] * at / (k + 1)
        scale = top * log(at) - lgamma(top + 1.0) - at
        here = 0.0
        more = weight[r] * done[1]
        for k in range(r):
            here += weight[k] * done[r - k]
            more += weight[k] * done[r + 1 - k]
    else:
        scale, here, more = 0.0, done[r], done[r + 1]
    if here > 1e-300:
        out[0] = scale + log(here)
        out[1] = r / rate * (more / here)
    else:  # a span so short before r phases can end: the density is x^(r - 1) there
        out[0] = r * log(max(span, 1e-300)) - lgamma(r + 1.0) + scale
        out[1] = hi * r / (r + 1.0)


@njit(cache=True, nogil=True)
def hyper_erlang_pass(x, logs, w, lo, hi, wc, phases, a, m, count, total):
    """One E-step of a mixture of Erlang laws; returns the log-likelihood.

    x, logs, w (b,): mean time, mean log time and weight of each bin; lo, hi, wc (c,): censored.
    phases, a, m (k,): branch lengths, weights, means. Fills ``count`` (k,) and ``total`` (k,)
    with the weight and the weighted time that fall to each branch.
    """
    k = a.size
    base, rate, level = np.empty(k), np.empty(k), np.empty(k)
    for i in range(k):
        rate[i] = phases[i] / m[i]
        base[i] = log(a[i]) + phases[i] * log(rate[i]) - lgamma(phases[i] + 0.0)
        count[i] = total[i] = 0.0
    result = 0.0
    for b in range(x.size):
        top = -1e308
        for i in range(k):
            level[i] = base[i] + (phases[i] - 1) * logs[b] - rate[i] * x[b]
            top = max(top, level[i])
        mass = 0.0
        for i in range(k):
            gap = level[i] - top
            level[i] = exp(gap) if gap > -40.0 else 0.0
            mass += level[i]
        result += w[b] * (top + log(mass))
        share = w[b] / mass
        for i in range(k):
            count[i] += share * level[i]
            total[i] += share * level[i] * x[b]
    pair, middle = np.empty(2), np.empty(k)
    for c in range(lo.size):
        top = -1e308
        for i in range(k):
            erlang_between(lo[c], hi[c], phases[i], rate[i], pair)
            level[i] = log(a[i]) + pair[0]
            middle[i] = pair[1]
            top = max(top, level[i])
        mass = 0.0
        for i in range(k):
            level[i] = exp(max(level[i] - top, -700.0))
            mass += level[i]
        result += wc[c] * (top + log(mass))
        for i in range(k):
            count[i] += wc[c] * level[i] / mass
            total[i] += wc[c] * level[i] / mass * middle[i]
    return result


@njit(cache=True, nogil=True)
def hyper_erlang_update(a, m, count, total):
    """M-step in place; a branch that has lost its data keeps its mean and a trace of weight."""
    size = count.sum()
    for i in range(a.size):
        if count[i] > 1e-60 * size:
            m[i] = total[i] / count[i]
        a[i] = max(count[i] / size, 1e-60)


# Loops, for expressions and assignments of whole arrays compile the messages of their errors as well.
@njit(cache=True, nogil=True)
def logarithms(a, m, out):
    """Fill ``out`` (2 k,) with the logarithms of ``a`` and of ``m``, both (k,)."""
    k = a.size
    for i in range(k):
        out[i], out[k + i] = log(a[i]), log(m[i])


@njit(cache=True, nogil=True)
def hyper_erlang_climb(x, logs, w, lo, hi, wc, phases, a, m, tol, trace):
    """EM steps from (a, m) on, in place, every third pair of them extrapolated.

    Extrapolation in log a, log m by squared steps (Varadhan & Roland 2008), taken back where it
    lowers the likelihood. Stops when a round of steps gains at most ``tol`` per unit of weight.
    Fills ``trace`` with log-likelihoods, which never fall; returns how many and if it stopped by
    itself. What is returned in (a, m) is one EM step beyond the last entry.
    """
    k = a.size
    size = w.sum() + wc.sum()
    count, total = np.empty(k), np.empty(k)
    start, one, two = np.empty(2 * k), np.empty(2 * k), np.empty(2 * k)
    steps = 0
    while steps + 3 <= trace.size:
        logarithms(a, m, start)
        trace[steps] = hyper_erlang_pass(x, logs, w, lo, hi, wc, phases, a, m, count, total)
        if steps >= 3 and trace[steps] - trace[steps - 3] <= tol * size:
            hyper_erlang_update(a, m, count, total)
            return steps + 1, True
        steps += 1
        hyper_erlang_update(a, m, count, total)
        logarithms(a, m, one)
        trace[steps] = hyper_erlang_pass(x, logs, w, lo, hi, wc, phases, a, m, count, total)
        steps += 1
        hyper_erlang_update(a, m, count, total)
        logarithms(a, m, two)
        speed = bend = 0.0
        for i in range(2 * k):
            speed += (one[i] - start[i]) ** 2
            bend += (two[i] - 2.0 * one[i] + start[i]) ** 2
        stride = 1.0
        if bend > 1e-30:
            stride = max(1.0, min(sqrt(speed / bend), 1e4))
        taken = False
        if stride > 1.0:
            for i in range(k):
                for j in (i, k + i):
                    far = (
                        start[j]
                        + 2.0 * stride * (one[j] - start[j])
                        + stride**2 * (two[j] - 2.0 * one[j] + start[j])
                    )
                    far = min(max(far, -130.0), 130.0)
                    if j < k:
                        a[i] = exp(far)
                    else:
                        m[i] = exp(far)
            share = a.sum()
            for i in range(k):
                a[i] = max(a[i] / share, 1e-60)
            reached = hyper_erlang_pass(x, logs, w, lo, hi, wc, phases, a, m, count, total)
            taken = reached >= trace[steps - 1]
            trace[steps] = reached
        if not taken:
            for i in range(k):
                a[i], m[i] = exp(two[i]), exp(two[k + i])
            trace[steps] = hyper_erlang_pass(x, logs, w, lo, hi, wc, phases, a, m, count, total)
        steps += 1
        hyper_erlang_update(a, m, count, total)
    return steps, False


@njit(cache=True, nogil=True)
def matmul(a, b, out):
    """``out = a @ b`` for small matrices; faster than a library call."""
    out[:] = 0.0
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            if a[i, k] != 0.0:
                for j in range(b.shape[1]):
                    out[i, j] += a[i, k] * b[k, j]


@njit(cache=True, nogil=True)
def poisson_weights(mean, out):
    """Fill ``out`` with Poisson probabilities of 0, 1, ... and return how many matter.

    Less than 1e-17 is left out; ``out`` of 400 will do for a mean of up to 200.
    """
    out[0] = exp(-mean)
    k = 0
    while k < 1.5 * mean or (out[k] > 1e-18 and k + 1 < out.size):
        k += 1
        out[k] = out[k - 1] * mean / k
    return k + 1


@njit(**COMPILED)
def settle(matrix):
    """Make the rows of ``matrix`` (n + 1, n + 1) sum to one, trusting the smaller part.

    Without it each squaring would double the error in the slow rates of a stiff chain.
    """
    n = matrix.shape[0] - 1
    for i in range(n):
        alive = 0.0
        for j in range(n):
            alive += matrix[i, j]
        if matrix[i, n] < 0.5 and alive > 0.0:
            for j in range(n):
                matrix[i, j] *= (1.0 - matrix[i, n]) / alive
        else:
            matrix[i, n] = 1.0 - alive


@njit(**COMPILED)
def copied(source, target):
    """Copy a vector onto the beginning of another."""
    for i in range(source.size):
        target[i] = source[i]


@njit(**COMPILED)
def product(left, right):
    """Inner product."""
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@njit(**COMPILED)
def squared_step(step, y):
    """Uniformised chain over ``y`` steps: the matrix over a short part, to be squared so often.

    Returns the matrix and the count. step (n + 1, n + 1) with absorption last.
    """
    halvings = 0
    while y > 1.0:
        y *= 0.5
        halvings += 1
    weights = np.empty(400)
    terms = poisson_weights(y, weights)
    n = step.shape[0]
    matrix, next_ = np.zeros((n, n)), np.empty((n, n))
    for k in range(terms - 1, -1, -1):
        matmul(step, matrix, next_)
        matrix, next_ = next_, matrix
        for i in range(n):
            matrix[i, i] += weights[k]
    settle(matrix)
    return matrix, halvings


@njit(**COMPILED)
def phase_forward(step, y, long, vector, after, weights, pair):
    """Move the phase probabilities ``vector`` (n,) on by ``y`` steps into ``after`` (n,).

    weights (400,), pair (2, n + 1) and below seen (400, n) are room to work in.

    Returns the mass absorbed meanwhile, a sum of non-negative terms.
    """
    n = vector.size
    after[:] = 0.0
    gone = lost = 0.0
    if y > long:
        matrix, halvings = squared_step(step, y)
        other = np.empty_like(matrix)
        for _ in range(halvings):
            matmul(matrix, matrix, other)
            matrix, other = other, matrix
            settle(matrix)
        for i in range(n):
            for j in range(n):
                after[j] += vector[i] * matrix[i, j]
            lost += vector[i] * matrix[i, n]
        return lost
    now, then = pair[0], pair[1]
    copied(vector, now)
    for k in range(poisson_weights(y, weights)):
        lost += weights[k] * gone
        for j in range(n):
            after[j] += weights[k] * now[j]
        then[:] = 0.0
        for i in range(n):
            gone += now[i] * step[i, n]
            for j in range(n):
                then[j] += now[i] * step[i, j]
        now, then = then, now
    return lost


@njit(**COMPILED)
def phase_backward(step, y, q, long, vector, back, meet, weights, pair, seen):
    """Move ``back`` (n + 1,) back by ``y`` steps in place and fill ``meet`` (n + 1, n).

    ``meet[j, i]``: integral over the span, in time, of phase i as seen from its start
    ``vector`` (n,) times state j as seen from its end ``back``.
    """
    n = vector.size
    meet[:] = 0.0
    if y > long:
        matrix, halvings = squared_step(step, y)
        size = y / 2.0**halvings
    else:
        matrix, halvings, size = step, 0, y
    # Over the (short) span: convolution by one backward recursion (Okamura et al. 2011).
    terms = poisson_weights(size, weights)
    copied(vector, seen[0])
    for k in range(1, terms):
        seen[k] = 0.0
        for i in range(n):
            for j in range(n):
                seen[k, j] += seen[k - 1, i] * step[i, j]
    now, then = pair[0], pair[1]
    now[:] = 0.0
    for k in range(terms - 1, -1, -1):
        for i in range(n + 1):
            acc = weights[k] * back[i]
            for j in range(n + 1):
                acc += step[i, j] * now[j]
            then[i] = acc
        now, then = then, now
        if k > 0:
            for j in range(n + 1):
                for i in range(n):
                    meet[j, i] += now[j] * seen[k - 1, i]
    for i in range(n):
        for j in range(n + 1):
            meet[j, i] /= q
    if halvings == 0:
        copied(now, back)
        return
    left, right, other = np.empty((n + 1, n)), np.empty((n + 1, n)), np.empty_like(matrix)
    for _ in range(halvings):
        matmul(matrix, meet, left)
        matmul(meet, matrix[:n, :n].copy(), right)
        for j in range(n + 1):
            for i in range(n):
                meet[j, i] = left[j, i] + right[j, i]
        matmul(matrix, matrix, other)
        matrix, other = other, matrix
        settle(matrix)
    now[:] = 0.0
    for i in range(n + 1):
        for j in range(n + 1):
            now[i] += matrix[i, j] * back[j]
    copied(now, back)


@njit(**COMPILED)
def phase_pass(t, w, wr, lo, hi, wi, alpha, jumps, exits, begun, moved, spent, ended):
    """One E-step of a phase-type law; returns the log-likelihood, -1e300 if it is zero.

    t (m,): increasing times; w, wr (m,): weight of what ended then, and of what was last seen
    alive then. lo, hi (k,): the others ended after time number lo and by number hi, 0 standing
    for time zero and 1 for t[0]; wi (k,): their weights. alpha, exits (n,), jumps (n, n).
    Fills the expected starts ``begun`` (n,), jumps ``moved`` (n, n), time ``spent`` (n,) and
    absorptions ``ended`` (n,) (Asmussen, Nerman & Olsson 1996), O(m n^2) for short gaps.
    """
    n, m = alpha.size, t.size
    begun[:], moved[:], spent[:], ended[:] = 0.0, 0.0, 0.0, 0.0
    total, q = np.zeros(n), 0.0
    for i in range(n):
        for j in range(n):
            total[i] += jumps[i, j]
        total[i] += exits[i]
        q = max(q, total[i])
    step = np.zeros((n + 1, n + 1))
    step[n, n] = 1.0
    for i in range(n):
        for j in range(n):
            step[i, j] = jumps[i, j] / q
        step[i, i] = 1.0 - total[i] / q
        step[i, n] = exits[i] / q
    long = min(max(32.0, 8.0 * n), 200.0)
    weights, pair, seen = np.empty(400), np.zeros((2, n + 1)), np.empty((400, n))
    alive = np.zeros(m + 1)  # log P(X > t)
    kept = np.ones(m + 1)  # P(X > t) given X > the time before
    ahead = np.empty((m + 1, n))
    copied(alpha, ahead[0])
    result = 0.0
    for k in range(1, m + 1):
        span = t[k - 1] - (t[k - 2] if k > 1 else 0.0)
        lost = phase_forward(step, q * span, long, ahead[k - 1], ahead[k], weights, pair)
        rest = ahead[k].sum()
        if not rest > 1e-200:
            return -1e300
        for i in range(n):
            ahead[k, i] /= rest
        alive[k] = alive[k - 1] + (log1p(-lost) if lost < 0.5 else log(rest))
        kept[k] = exp(alive[k] - alive[k - 1])
        result += wr[k - 1] * alive[k]
        if w[k - 1] > 0.0:
            rate = product(ahead[k], exits)
            if not rate > 1e-300:
                return -1e300
            result += w[k - 1] * (alive[k] + log(rate))
    source, sink = np.zeros(m + 1), np.zeros(m + 1)
    open_ = np.zeros(m + 1, dtype=np.int64)
    for j in range(wi.size):
        part = -expm1(alive[hi[j]] - alive[lo[j]])
        if not part > 1e-200:
            return -1e300
        result += wi[j] * (alive[lo[j]] + log(part))
        source[hi[j]] += wi[j] * exp(alive[hi[j]] - alive[lo[j]]) / part
        sink[lo[j]] += wi[j] / part
        open_[hi[j]] += 1
        open_[lo[j]] -= 1
    back, meet = np.zeros(n + 1), np.empty((n + 1, n))
    active = 0
    for k in range(m, 0, -1):
        active += open_[k]
        back[n] = max(back[n] + source[k] - sink[k], 0.0) if active > 0 else 0.0
        rate = product(ahead[k], exits)
        for i in range(n):
            back[i] += wr[k - 1]
            if w[k - 1] > 0.0:
                back[i] += w[k - 1] * exits[i] / rate
                ended[i] += w[k - 1] * ahead[k, i] * exits[i] / rate
        span = t[k - 1] - (t[k - 2] if k > 1 else 0.0)
        phase_backward(step, q * span, q, long, ahead[k - 1], back, meet, weights, pair, seen)
        for i in range(n + 1):
            back[i] /= kept[k]
        for i in range(n):
            spent[i] += meet[i, i] / kept[k]
            ended[i] += meet[n, i] * exits[i] / kept[k]
            for j in range(n):
                moved[i, j] += meet[j, i] * jumps[i, j] / kept[k]
    for i in range(n):
        begun[i] = alpha[i] * back[i]
    return result
