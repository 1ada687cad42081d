"""Old paths of modules that were documented and have moved: they still lead to the same names."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

#: Where the public names of a module are now, by its former path.
FORMER: Final = {
    "qmodels.interactive": "qmodels.pages.surface",
    "qmodels.markov.memory": "qmodels.markov",
    "qmodels.policies.policy_map": "qmodels.policies.choice.policy_map",
    "qmodels.policies.recommendation": "qmodels.policies.choice.recommendation",
    "qmodels.policies.response": "qmodels.policies.models.response",
    "qmodels.policies.speed_scaled": "qmodels.networks.many_server",
    "validation.crossvalidate": "validation.trial",
    "validation.measurements": "validation.synthetic",
    "validation.scheduling": "validation.machine.disciplines",
    "validation.stats": "validation.analysis",
    "validation.streams": "validation.jobs",
}


class _Former(MetaPathFinder, Loader):
    """Finds a module at its former path; what is asked of it is asked of the present one."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in FORMER else None

    def exec_module(self, module: ModuleType) -> None:
        present = importlib.import_module(FORMER[module.__name__])
        module.__doc__ = present.__doc__
        module.__getattr__ = lambda name: getattr(present, name)  # type: ignore[method-assign]
        module.__dir__ = lambda: dir(present)  # type: ignore[method-assign]


def install() -> None:
    """Let the former paths be imported."""
    if not any(isinstance(finder, _Former) for finder in sys.meta_path):
        sys.meta_path.append(_Former())
