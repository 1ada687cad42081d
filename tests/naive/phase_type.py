"""Phase-type laws by the textbook in many digits: slow, obvious, and from the rates alone."""

from __future__ import annotations

import mpmath

DIGITS = 60


def generator(law):
    """Generator of the chain with its absorbing state last, (n + 1, n + 1)."""
    n = law.order
    q = mpmath.zeros(n + 1)
    for i, row in enumerate(law.jumps.tolist()):
        for j, rate in enumerate(row):
            q[i, j] = mpmath.mpf(rate)
        q[i, n] = mpmath.mpf(float(law.exit[i]))
        q[i, i] = -mpmath.fsum(q[i, j] for j in range(n + 1) if j != i)
    return q


def doublings(law, x, count):
    """Probability of each phase, and of absorption as the last entry, after x, 2 x, 4 x, ...

    Only non-negative matrices are squared, so small entries keep their digits.
    """
    with mpmath.workdps(DIGITS):
        step = generator(law) * mpmath.mpf(float(x))
        halvings = 10 + max(0, int(mpmath.ceil(mpmath.log(mpmath.mnorm(step, 1) + 1, 2))))
        step = step / mpmath.mpf(2) ** halvings
        term = total = mpmath.eye(law.order + 1)
        for k in range(1, law.order + 20):  # each term is a thousandth of the last, or less
            term = term * step / k
            total = total + term
        start = mpmath.matrix([[*law.alpha.tolist(), law.atom]])
        for _ in range(halvings):
            total = total * total
        states = [start * total]
        for _ in range(count - 1):
            total = total * total
            states.append(start * total)
        return states


def transient(law, x):
    return doublings(law, x, 1)[0]


def survival(law, now):
    return mpmath.fsum(now[: law.order])


def density(law, now):
    with mpmath.workdps(DIGITS):
        return mpmath.fsum(now[i] * mpmath.mpf(float(law.exit[i])) for i in range(law.order))


def moments(law, count):
    """Moments from the first on, by one factorisation of the generator."""
    with mpmath.workdps(DIGITS):
        n = law.order
        factors, pivots = mpmath.mp.LU_decomp(-generator(law)[:n, :n])
        start = mpmath.matrix([law.alpha.tolist()])
        v, result = mpmath.ones(n, 1), []
        for k in range(1, count + 1):
            v = mpmath.mp.U_solve(factors, mpmath.mp.L_solve(factors, v, pivots))
            result.append(mpmath.factorial(k) * (start * v)[0])
        return result


def moment(law, k):
    return moments(law, k)[-1]


def moments_in_a_row(law, count):
    """Moments from the first on, by back substitution: the phases only lead to later ones."""
    exits, alpha = ([mpmath.mpf(x) for x in column.tolist()] for column in (law.exit, law.alpha))
    onward = [[(j, mpmath.mpf(x)) for j, x in enumerate(row) if x] for row in law.jumps.tolist()]
    assert all(j > i for i, row in enumerate(onward) for j, _ in row)
    with mpmath.workdps(40):
        rates = [
            mpmath.fsum([leaves, *(rate for _, rate in row)])
            for leaves, row in zip(exits, onward, strict=True)
        ]
        v, result = [mpmath.mpf(1)] * law.order, []
        for k in range(1, count + 1):
            new = list(v)
            for i in reversed(range(law.order)):
                total = k * v[i]
                for j, rate in onward[i]:
                    total += rate * new[j]
                new[i] = total / rates[i]
            v = new
            result.append(mpmath.fsum(a * x for a, x in zip(alpha, v, strict=True) if a))
    return result


def laplace(law, s):
    with mpmath.workdps(DIGITS):
        n = law.order
        q = generator(law)
        shifted = mpmath.mpf(s) * mpmath.eye(n) - q[:n, :n]
        return law.atom + (mpmath.matrix([law.alpha.tolist()]) * mpmath.lu_solve(shifted, q[:n, n]))[0]
