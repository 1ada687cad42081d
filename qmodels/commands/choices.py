"""Options whose value is one of a few names: shown as such, completed, and taken in any spelling.

The names stand here too, or are read from the files that enter classes by name, for the help of a
command must not load what it would take to work; a test holds them against the packages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from qmodels.entries import names_of

MODELS: Final = ("auto", *names_of("qmodels.policies.models"))
FAMILIES: Final = ("hyper-erlang", "coxian", "general", "moments")
CRITERIA: Final = ("bic", "aic", "cv")
FORMS: Final = ("json", "butools", "line", "matlab", "jmt", "prism")
LOG_FORMATS: Final = tuple(names_of("qmodels.io.job_logs"))
UNITS: Final = ("cores", "nodes", "gpus")
STATUSES: Final = ("completed", "failed", "cancelled")
MODULES: Final = ("POSIX", "MPI-IO", "STDIO")
FIDELITIES: Final = ("static", "fluid", "worm")
NETWORKS: Final = ("none", "fluid", "worm")
SIDES: Final = ("west", "east", "north", "south", "front", "back")
WRITE_MODES: Final = ("blocking", "waiting-works", "asynchronous")
SCHEDULERS: Final = ("slurm",)
SWEEPS: Final = ("predict", "simulate", "allocate")


def choice(names: Sequence[str], *flags: str, help: str) -> Any:
    """An option for one of some names.

    What is none of them is left as it is: whoever takes it says which one was meant.
    """

    def spell(value: str | None) -> str | None:
        if not value:
            return value
        from phasefit.checks import spelled

        return spelled(value, names) or value

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.casefold().startswith(incomplete.casefold())]

    return typer.Option(
        *flags, metavar=f"[{'|'.join(names)}]", help=help, callback=spell, autocompletion=complete
    )


Model = Annotated[str | None, choice(MODELS, "--model", help="By default the scenario's.")]
