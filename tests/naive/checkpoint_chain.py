"""Jobs that take turns to write, as a chain of labelled jobs that is counted out by hand.

A state says of every job in which stage of its interval it is, and for those at the storage the
order in which they came, with the stage of a transfer that is under way. Nothing is lumped, so that
it is slow and obvious.
"""

from __future__ import annotations

import numpy as np


def mean_write(jobs, timer, size, writers):
    """Mean seconds from request to the end of a write.

    `timer` and `size` are (start, T): a phase-type law each, in seconds.
    """
    begin = (tuple(0 for _ in range(jobs)), ())  # stages of who works, None at the storage; file
    starts = [begin]
    states, rows = {begin: 0}, []

    def moves(state):
        stages, file = state
        for job, stage in enumerate(stages):
            if stage is None:
                continue
            for then, rate in enumerate(timer[1][stage]):
                if then != stage and rate:
                    yield ((*stages[:job], then, *stages[job + 1 :]), file), rate
            leave = -timer[1][stage].sum()
            for after, chance in admitted((*file, (job, None))):
                yield ((*stages[:job], None, *stages[job + 1 :]), after), leave * chance
        for place, (job, stage) in enumerate(file[:writers]):
            for then, rate in enumerate(size[1][stage]):
                if then != stage and rate:
                    yield (stages, (*file[:place], (job, then), *file[place + 1 :])), rate
            done = -size[1][stage].sum()
            for after, chance in admitted(file[:place] + file[place + 1 :]):
                for first, share in enumerate(timer[0]):
                    if share:
                        back = (*stages[:job], first, *stages[job + 1 :])
                        yield (back, after), done * chance * share

    def admitted(file):
        """The file with a transfer begun by each of the first ones, and the chances."""
        for place, (job, stage) in enumerate(file[:writers]):
            if stage is None:
                for first, share in enumerate(size[0]):
                    if share:
                        for after, more in admitted((*file[:place], (job, first), *file[place + 1 :])):
                            yield after, share * more
                return
        yield file, 1.0

    while starts:
        state = starts.pop()
        for after, rate in moves(state):
            if rate:
                if after not in states:
                    states[after] = len(states)
                    starts.append(after)
                rows.append((states[state], states[after], rate))
    q = np.zeros((len(states), len(states)))
    for a, b, rate in rows:
        q[a, b] += rate
    np.fill_diagonal(q, q.diagonal() - q.sum(axis=1))
    q[:, 0] = 1.0  # in place of one balance
    pi = np.linalg.solve(q.T, np.eye(len(states))[0])
    at_storage = sum(p * len(state[1]) for state, p in zip(states, pi, strict=True))
    flow = sum(
        p * sum(-timer[1][stage].sum() for stage in state[0] if stage is not None)
        for state, p in zip(states, pi, strict=True)
    )
    return at_storage / flow
