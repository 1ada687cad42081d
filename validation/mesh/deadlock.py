"""The watchdog: messages that wait for each other in a cycle, and the channels they hold."""

from __future__ import annotations

import numpy as np

from qmodels.errors import ModelError
from validation.mesh._kernels import inspection
from validation.mesh._kernels.records import State


class DeadlockError(ModelError):
    """Messages wait for each other in a cycle and no job among them can ever complete.

    `cycle` names the channels: whoever holds one waits for the next, and the last for the first.

    Parameters
    ----------
    clock : int
        Cycle at which it was noticed.
    cycle : list of int
        Channels around the cycle.
    """

    def __init__(self, clock: int, cycle: list[str]) -> None:
        self.clock, self.cycle = clock, tuple(cycle)
        super().__init__(
            f"deadlock by cycle {clock}: {len(cycle)} messages each wait for the channel that the "
            f"next one holds: {'; '.join(cycle)}; use dimension-ordered routes without wrap-around "
            f"links, or virtual_channels=2 on a torus"
        )


def waiting_cycle(state: State) -> list[int]:
    """Return the channels asked for around a cycle of waiting worms; empty where there is none.

    Parameters
    ----------
    state : State
        Tables of the kernels.
    """
    holder = np.full(len(state.channels), -1, np.int64)
    seen = np.zeros(len(state.messages), np.int64)
    channels = np.zeros(len(state.messages), np.int64)
    length = inspection.waiting_cycle(state, holder, seen, channels)
    return [int(channel) for channel in channels[:length]]
