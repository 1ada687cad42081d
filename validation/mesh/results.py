"""Reports of a network: completed jobs, and what every channel has carried."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from phasefit.arrays import Array, Ints
from phasefit.records import Result
from validation.mesh.topology import Mesh

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Completion(Result):
    """A job whose messages have all been delivered.

    Times are cycles, whole ones with worms.
    """

    job: Hashable  #: its name
    start: float  #: when it began
    finish: float  #: when its last message was delivered
    messages: int  #: that it sent
    flits: int  #: of all of them
    mean_latency: float  #: from a message's making to its delivery
    mean_network_latency: float  #: from its injection to its delivery
    mean_blocking: float  #: time that its header waited for channels after injection
    longest_latency: float  #: of a message
    mean_hops: float  #: links, and one for the ejection
    phases: tuple[tuple[str, float, float], ...]  #: pattern, begin and end of each phase run

    @property
    def response(self) -> float:
        """From start to finish."""
        return self.finish - self.start

    def table(self) -> str:
        """Return name and value as text, one to a line, the phases left out."""
        return named_lines(((f.name, getattr(self, f.name)) for f in fields(self) if f.name != "phases"), 22)

    def plot(self, ax: Any = None) -> Any:
        """Draw the phases over time; see `validation.mesh.plotting.phase_strip`."""
        from validation.mesh.plotting import phase_strip

        return phase_strip(self, ax=ax)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChannelUse(Result):
    """Totals of each channel since the beginning, (channels,) each."""

    mesh: Mesh  #: of the channels
    cycles: int  #: over which it was counted
    flits: Ints  #: that went through
    messages: Ints  #: that went through
    waited: Ints  #: cycles that headers waited for it (before injection channels, at the source)
    held: Ints  #: cycles that it was held, until its release where that is known

    @property
    def utilisation(self) -> Array:
        """Flits per cycle, (channels,)."""
        return self.flits / max(self.cycles, 1)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each link."""
        names = ("flits", "messages", "waited", "held", "utilisation")
        return link_table(self.mesh, {name: getattr(self, name) for name in names})

    def plot(self, ax: Any = None) -> Any:
        """Draw the link map; see `validation.mesh.plotting.link_map`."""
        from validation.mesh.plotting import link_map

        return link_map(self.mesh, self.utilisation, ax=ax)


def named_lines(rows: Iterable[tuple[str, Any]], width: int) -> str:
    """Return names and values as text, one to a line.

    Parameters
    ----------
    rows : iterable of (str, object)
        Name and value; of a number that is not whole six digits are shown.
    width : int
        Room for the names.
    """
    return "\n".join(
        f"{name:<{width}} {f'{value:.6g}' if isinstance(value, float) else value}" for name, value in rows
    )


def link_table(mesh: Mesh, columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Return a row for each link: its number, its ends, and columns of every channel.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    columns : mapping
        Name to values of every channel, (channels,).
    """
    import pandas as pd

    numbers, begins, ends = mesh.link_ends()
    told = {
        "channel": numbers,
        "from": [mesh.node_name(router) for router in begins.tolist()],
        "to": [mesh.node_name(router) for router in ends.tolist()],
    }
    return pd.DataFrame(told | {name: values[numbers] for name, values in columns.items()})
