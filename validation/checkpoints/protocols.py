"""Protocols by which jobs share a storage: who writes when, and what a job does meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from qmodels.checkpoints import Checkpointing, Storage
from qmodels.entries import load_entries
from qmodels.registry import Registry


class AbstractProtocol:
    """One way in which jobs could write to a storage that they share.

    A subclass has a name and words; what it does is said by `mode` and `turns`, or by `applied`. Enter
    the class in `PROTOCOLS`, and every comparison predicts and simulates it beside the others.
    """

    name: ClassVar[str]  #: in tables, figures and findings
    says: ClassVar[str]  #: what happens, in words
    rank: ClassVar[int] = 50  #: protocols are compared in ascending order
    alone: ClassVar[bool] = False  #: whether it is anything of its own for a single job
    mode: ClassVar[str] = "blocking"  #: what a job does meanwhile, see `Checkpointing`
    turns: ClassVar[bool] = True  #: whether jobs write one after the other, else all at once

    def applied(
        self, job: Checkpointing, storage: Storage, jobs: int, snapshot: float
    ) -> tuple[Checkpointing, Storage]:
        """Return the same job and storage under the protocol.

        Parameters
        ----------
        job, storage, jobs
            As they are.
        snapshot : float
            Seconds to copy the state aside, where the mode asks for it.
        """
        behind = self.mode == "asynchronous"
        # So many transfers at once use the whole bandwidth.
        writers = max(1, min(jobs, int(storage.full_at))) if self.turns else None
        own = replace(job, mode=self.mode, snapshot=snapshot if behind else 0.0)
        return own, replace(storage, writers=writers)


#: Every protocol by name.
PROTOCOLS: Registry[AbstractProtocol] = Registry(
    AbstractProtocol, "protocol", order=lambda protocol: protocol.rank
)


def protocols_of(
    job: Checkpointing, storage: Storage, jobs: int, snapshot: float
) -> Iterator[tuple[str, str, Checkpointing, Storage]]:
    """Yield what is compared: name, words, job and storage; first as given where that is none of them.

    Parameters
    ----------
    job, storage, jobs
        As for `qmodels.checkpoints.predict_checkpoints`.
    snapshot : float
        Seconds to copy the state aside.
    """
    load_entries("validation.checkpoints")
    rows = [
        (each.name, each.says, *each().applied(job, storage, jobs, snapshot))
        for each in PROTOCOLS.values()
        if jobs > 1 or each.alone
    ]
    if (job, storage) not in ((own, disk) for _, _, own, disk in rows):
        yield "as given", "as the job and the storage are given", job, storage
    yield from rows


@PROTOCOLS.register
class Sharing(AbstractProtocol):
    """All at once."""

    name = "sharing"
    says = "all write at once and share the bandwidth"
    rank = 10
    alone = True
    turns = False


@PROTOCOLS.register
class Turns(AbstractProtocol):
    """One after the other, standing still."""

    name = "turns"
    says = "whoever asks waits, standing still, until it is its turn"
    rank = 20


@PROTOCOLS.register
class WaitingWorks(AbstractProtocol):
    """One after the other, at work until then."""

    name = "waiting works"
    says = "whoever waits for its turn works on until then"
    rank = 30
    mode = "waiting-works"


@PROTOCOLS.register
class BehindTheWork(AbstractProtocol):
    """One after the other, behind the work."""

    name = "behind the work"
    says = "the state is copied aside and written while the job works"
    rank = 40
    alone = True
    mode = "asynchronous"
