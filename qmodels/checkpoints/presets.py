"""Sizes of checkpoints and storages that people ask about, with where the numbers stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from phasefit.checks import one_of
from phasefit.records import Record
from qmodels.checkpoints.model import Storage


@dataclass(frozen=True)
class SystemPreset(Record):
    """Machine whose storage and failures were published."""

    storage: Storage  #: of the machine
    mtbf: float | None  #: of a job on the whole machine, seconds
    source: str  #: where both were published


#: Bytes of a checkpoint with optimiser state, by model; MLPerf Storage v2.0, checkpointing.
MODEL_BYTES: Final = {
    "llama3-8b": 105e9,
    "llama3-70b": 912e9,
    "llama3-405b": 5.29e12,
    "llama3-1t": 18e12,
}
SYSTEMS: Final = {
    "llama3": SystemPreset(
        Storage(2e12),
        3.093 * 3600.0,
        "Grattafiori et al. 2024: 16,384 GPUs, 419 unexpected interruptions in 54 days, 2 TB/s",
    ),
    "cielo": SystemPreset(
        Storage(160e9), None, "Herault et al. 2018: 160 GB/s, two years between failures of a node"
    ),
}


def model_bytes(name: str) -> float:
    """Return the bytes of a checkpoint of a known model.

    Parameters
    ----------
    name : str
        A key of `MODEL_BYTES`, in any case.

    Examples
    --------
    >>> model_bytes("llama3-405b")
    5290000000000.0
    """
    return MODEL_BYTES[one_of("model", name.lower(), tuple(MODEL_BYTES))]


def system(name: str) -> SystemPreset:
    """Return storage and failures of a known machine.

    Parameters
    ----------
    name : str
        A key of `SYSTEMS`, in any case.

    Examples
    --------
    >>> system("cielo").storage.bandwidth
    160000000000.0
    """
    return SYSTEMS[one_of("system", name.lower(), tuple(SYSTEMS))]
