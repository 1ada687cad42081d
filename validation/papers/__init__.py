"""Published figures and tables, each an experiment that can be run again."""

from validation.papers.bani_mohammad import EXPERIMENTS as _BANI_MOHAMMAD
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, SharedRuns
from validation.papers.kernel import EXPERIMENT as _KERNEL
from validation.papers.liu import EXPERIMENTS as _LIU
from validation.papers.mache import EXPERIMENTS as _MACHE
from validation.papers.qin import EXPERIMENTS as _QIN
from validation.papers.rosti.figures import SPACE as _ROSTI_FIG6
from validation.papers.rosti.figures import TIME as _ROSTI_FIG7
from validation.papers.rosti.m_sweep import EXPERIMENT as _M_SWEEP
from validation.papers.slurm import EXPERIMENT as _SLURM
from validation.papers.trial import EXPERIMENTS as _TRIAL

#: Every experiment by its name.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _ROSTI_FIG6,
        _ROSTI_FIG7,
        _M_SWEEP,
        *_LIU,
        *_MACHE,
        *_BANI_MOHAMMAD,
        *_QIN,
        *_TRIAL,
        _SLURM,
        _KERNEL,
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Finding", "Outcome", "RunOptions", "SharedRuns"]
