"""Named synthetic programs, and the reference mixture made of them.

The names are those of programs of the Scalable I/O initiative that were measured for the source;
its measurements are not published. The numbers here are invented. They agree with what is known
in words: how many phases a program has, that they form one working set, and what the mixture
must do for the published comparisons of policies to come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from phasefit.checks import suggestion
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.programs.model import Program, WorkloadMix
from qmodels.programs.phases import Burst, Phase, WorkingSet
from qmodels.programs.quantities import positive

PROCESSORS_PER_DISK = 4.0  #: R of min(d, p/R), all profiles
MESSAGES = 0.02  #: seconds of communication per phase and further processor, where there is any
OVERHEAD = 0.1  #: seconds of sequential computation of a job of the mixture
SLOWDOWN = (8.0, 2.2)  #: the mixture is 2.2 times as slow in computation on 8 or fewer processors


@dataclass(frozen=True)
class Profile(Record):
    """Totals of a synthetic program, seconds per job."""

    name: str  #: of the program
    phases: int  #: equal ones, a single working set
    computation: float  #: Z_CPU: processor-seconds that divide over the processors
    transfer: float  #: Z_IO: seconds with one disk that is kept busy
    communicates: bool = False  #: whether its speedup has a maximum at finitely many processors
    discontinuous: bool = False  #: whether it carries the slowdown of the mixture
    note: str = "synthetic, not a measurement"  #: for reports


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile("QCRD-2", 12, 700.0, 30.0, communicates=True),
            Profile("QCRD-4", 12, 500.0, 24.0, communicates=True),
            Profile("MESSKIT-SCF", 5, 300.0, 48.0, communicates=True),
            Profile(
                "MESSKIT-ARGOS",
                4,
                240.0,
                60.0,
                note="synthetic, not a measurement; stands for a program that mostly writes",
            ),
            Profile(
                "ESCAT-2",
                8,
                900.0,
                22.0,
                discontinuous=True,
                note="synthetic, not a measurement; slower by a factor on 8 or fewer processors",
            ),
            Profile("ESCAT-4", 8, 644.0, 20.0),
            Profile("RENDER", 10, 300.0, 20.0),
        )
    }
)
"""The seven profiles by name; all synthetic, not measurements."""


def profile(name: str, *, messages: float | None = None) -> Program:
    """Return a synthetic program by its name.

    Parameters
    ----------
    name : str
        One of `PROFILES`: QCRD-2, QCRD-4, MESSKIT-SCF, MESSKIT-ARGOS, ESCAT-2, ESCAT-4, RENDER.
    messages : float, optional
        Seconds of communication per phase for each processor beyond the first. By default 0.02
        for QCRD-2, QCRD-4 and MESSKIT-SCF, whose speedup then has a maximum inside a machine of
        128 processors and 32 disks, and none for the others.

    Returns
    -------
    program : Program
        Equal phases in one working set; I/O scales by min(d, p/4), computation by p.

    Raises
    ------
    ModelError
        If there is no such profile; names the nearest.

    Notes
    -----
    Invented numbers under the names of measured programs: see the module. The 0.02 s is of each
    phase; of each job, the maximum would lie at 187 processors.

    Examples
    --------
    >>> program = profile("QCRD-2")
    >>> len(program.phases), len(program.working_sets)
    (12, 1)
    >>> round(float(program.mean_cpu(1, 1)), 6), float(program.mean_io(4, 1))
    (700.136719, 30.0)
    """
    if not isinstance(name, str) or name not in PROFILES:
        raise ModelError(f"no profile {name!r:.60}; {suggestion(name, PROFILES)}")
    chosen = PROFILES[name]
    if messages is None:
        messages = MESSAGES if chosen.communicates else 0.0
    elif isinstance(messages, bool) or messages != 0:
        messages = positive("messages", messages, least=1e-18, most=1e18, why=" or 0")
    slow = _slowdown_alone(chosen) if chosen.discontinuous else 1.0
    overhead = OVERHEAD * chosen.computation / _mean_computation()
    cpu = Burst(
        slow * (chosen.computation + overhead) / chosen.phases,
        sequential=slow * overhead / chosen.phases,
        per_processor=messages,
        slowdown=(SLOWDOWN[0], slow) if chosen.discontinuous else None,
    )
    io = Burst(PROCESSORS_PER_DISK * chosen.transfer / chosen.phases, law="min(d, p/4)")
    return Program([WorkingSet(chosen.phases, [Phase(io, cpu)])], chosen.name)


def reference_mix() -> WorkloadMix:
    """Return the seven profiles, equally often and without communication: the workload W*.

    Notes
    -----
    Its means are those of the specification: computation 0.1 + 512/p seconds, 2.2 times that on
    8 or fewer processors, and I/O 32/min(d, p/4). One program, ESCAT-2, carries the slowdown of
    all, as a factor of 5.78.

    Examples
    --------
    >>> mix = reference_mix()
    >>> round(float(mix.mean_cpu(16, 1)), 6), round(float(mix.mean_io(16, 2)), 6)
    (32.1, 16.0)
    """
    return WorkloadMix([profile(name, messages=0.0) for name in PROFILES], name="W*")


def _mean_computation() -> float:
    return sum(each.computation for each in PROFILES.values()) / len(PROFILES)


def _slowdown_alone(chosen: Profile) -> float:
    """Factor of one program that slows the mixture down by `SLOWDOWN`."""
    return 1.0 + (SLOWDOWN[1] - 1.0) * len(PROFILES) * _mean_computation() / chosen.computation
