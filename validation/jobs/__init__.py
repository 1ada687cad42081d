"""Jobs that arrive at a simulated machine: when, and how big."""

from validation.jobs.bounded_pareto import BoundedPareto
from validation.jobs.boxes import BoxStreams
from validation.jobs.disciplines import QUEUE_DISCIPLINES
from validation.jobs.logs import LogStreams
from validation.jobs.lublin import LublinStreams
from validation.jobs.renewal import AbstractJobs, DependentJobs, RenewalJobs, ReplayedJobs
from validation.jobs.stream import STREAMS, AbstractStreams, JobStream, register
from validation.jobs.synthetic import BatchStreams, PoissonStreams, SurrogateStreams

__all__ = [
    "QUEUE_DISCIPLINES",
    "STREAMS",
    "AbstractJobs",
    "AbstractStreams",
    "BatchStreams",
    "BoundedPareto",
    "BoxStreams",
    "DependentJobs",
    "JobStream",
    "LogStreams",
    "LublinStreams",
    "PoissonStreams",
    "RenewalJobs",
    "ReplayedJobs",
    "SurrogateStreams",
    "register",
]
