"""`Router`: the delays of a router, and which of the waiting headers it serves."""

from __future__ import annotations

from dataclasses import dataclass, fields

from phasefit.checks import boolean, check_fields, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.mesh._kernels.records import Timing


@dataclass(frozen=True, kw_only=True)
class Router(Record):
    """Timing of every router, in cycles; one cycle moves one flit over a link.

    Parameters
    ----------
    hop : int
        From a header's grant of one channel to its request of the next.
    flow : int
        From a flit's crossing of one channel to its earliest crossing of the next; at most `hop`.
    buffer : int
        Flits that a channel's buffer holds.
    credit : int
        From a flit's leaving a buffer to the moment when its place may be filled again, less
        the cycle in which it leaves.
    release : int
        From the tail's leaving a channel's buffer to the next grant of the channel.
    sink : int
        From the tail's crossing of the ejection channel to the message's delivery.
    resume : int
        As `release`, of the injection channel: nothing but the node itself has to hear of it.
    input_speedup : int
        Flits that may leave each input of a router in a cycle: 2, one from each lane (as with an
        input speed-up of 2 in flit-level simulators), or 1, so that the two lanes of an input have
        one way into the crossbar together; then credits must take time. It matters on tori, where
        links have two lanes.
    cut_through : bool
        Whether buffers hold any number of whole messages: one that waits keeps no other from the
        channels behind it, and a channel is busy with a message's own flits only (virtual
        cut-through, or messages at packet level). `buffer` and `credit` play no part then.
    in_turn : bool
        Whether a channel that becomes free goes to the next of its router's inputs that wait, in
        turn, instead of to the header that asked first.

    Raises
    ------
    ModelError
        If a number is out of range.

    Notes
    -----
    The default is the ideal router: one cycle for each hop, single-flit buffers, and a channel
    handed over in the cycle that its tail leaves. `Router.pipelined` has the delays of a
    three-stage router with credits, as in a flit-level simulator [1]_; a router that takes t
    cycles for each header and moves flits on at once is ``Router(hop=t + 1)``.

    References
    ----------
    .. [1] N. Jiang et al., "A detailed and flexible cycle-accurate network-on-chip simulator",
       *Proc. ISPASS* 2013.

    Examples
    --------
    >>> Router().zero_load(hops=3, flits=8), Router.pipelined().zero_load(hops=3, flits=8)
    (12, 21)
    """

    hop: int = 1
    flow: int = 1
    buffer: int = 1
    credit: int = 0
    release: int = 0
    sink: int = 1
    resume: int = 0
    input_speedup: int = 2
    cut_through: bool = False
    in_turn: bool = False

    def __post_init__(self) -> None:
        check_fields(self, boolean, "cut_through", "in_turn")
        for f in fields(self)[:-2]:
            least = 0 if f.name in ("credit", "release", "resume") else 1
            value = whole_number(f.name, getattr(self, f.name), least=least, most=1 << 20)
            object.__setattr__(self, f.name, value)
        if self.flow > self.hop:
            raise ModelError(f"flow must be <= hop, which is {self.hop}; got {self.flow}")
        if self.input_speedup > 2:
            raise ModelError(f"input_speedup must be 1 or 2, got {self.input_speedup}")
        if self.input_speedup == 1 and self.credit == 0:
            raise ModelError("input_speedup 1 needs credits that take time; give credit >= 1")
        if self.cut_through and (self.buffer, self.credit) != (1, 0):
            raise ModelError("with cut_through buffers are unlimited; leave out buffer and credit")

    @classmethod
    def pipelined(cls, *, buffer: int = 8, input_speedup: int = 2) -> Router:
        """Return a router of three stages whose credits take two cycles to come back.

        Parameters
        ----------
        buffer : int
            Flits of an input.
        input_speedup : int
            Flits that an input may pass on in a cycle.
        """
        return cls(
            hop=3,
            flow=3,
            buffer=buffer,
            credit=2,
            release=2,
            sink=2,
            resume=1,
            input_speedup=input_speedup,
            in_turn=True,
        )

    @property
    def timing(self) -> Timing:
        """The same numbers as the kernels take them."""
        return Timing(*(int(getattr(self, name)) for name in Timing._fields))

    def zero_load(self, *, hops: int, flits: int) -> int:
        """Return the latency, cycles, of a message that never waits.

        Parameters
        ----------
        hops : int
            Links that it crosses.
        flits : int
            Its length.
        """
        if self.cut_through:
            return self.hop * (hops + 1) + flits - 1 + self.sink
        buffers, rest = divmod(flits - 1, self.buffer)
        loop = max(self.buffer, self.flow + self.credit)
        return self.hop * (hops + 1) + buffers * loop + rest + self.sink
