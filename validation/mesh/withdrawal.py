"""A job stops sending: what is under way arrives, and what has not begun is counted."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from qmodels.errors import ModelError
from validation.mesh._kernels.records import LISTED, WAITING, State
from validation.mesh._kernels.traffic import length, messages_of


def is_plain(state: State, entry: Any) -> bool:
    """Return whether a job is one run of a phase that may end early.

    Parameters
    ----------
    state : State
        Tables of the kernels.
    entry : record
        Row of the job.
    """
    phase = state.phases[entry["first_phase"]]
    runs = int(entry["phases"]) * int(entry["repetitions"])
    return runs == 1 and not (phase["lockstep"] or phase["kind"] == LISTED or phase["pause"])


def withdraw(state: State, job: Hashable, entry: Any, clock: int) -> int:
    """Keep the job of a row of the table from sending anything more.

    Parameters
    ----------
    state : State
        Tables of the kernels.
    job : hashable
        Name of the job, for the message.
    entry : record
        Row of the job.
    clock : int
        Cycle.

    Returns
    -------
    int
        Flits that it has not begun to send.

    Raises
    ------
    ModelError
        If it is no plain run of a phase.
    """
    if not is_plain(state, entry):
        raise ModelError(f"job {job!r:.40} has more than one plain run of a phase; only one can be withdrawn")
    phase, first = state.phases[entry["first_phase"]], int(entry["first_stream"])
    nodes, io_nodes = int(entry["nodes"]), int(entry["io_nodes"])
    if entry["status"] == WAITING:  # over when it would have begun
        entry["repetitions"] = 0
        counts = [int(messages_of(phase, rank, nodes, io_nodes)) for rank in range(nodes + io_nodes)]
        return sum(int(length(phase, i, n)) for n in counts for i in range(n))
    unsent = 0
    for stream in state.streams[first : first + nodes + io_nodes]:
        for i in range(int(stream["index"]), int(stream["stop"])):
            unsent += int(length(phase, i, stream["count"]))
        entry["outstanding"] -= stream["stop"] - stream["index"]
        stream["stop"] = stream["index"]
    if entry["outstanding"] == 0 and unsent:
        entry["due"] = max(int(entry["done"]), clock)
        state.counters["due"] = min(int(state.counters["due"][0]), int(entry["due"]))
    return unsent
