"""What arrives at the mesh machine, when, and how big: streams of jobs."""

from validation.streams.logs import LogStreams
from validation.streams.lublin import LublinStreams
from validation.streams.stream import STREAMS, AbstractStreams, JobStream, register
from validation.streams.synthetic import BatchStreams, PoissonStreams, SurrogateStreams

__all__ = [
    "STREAMS",
    "AbstractStreams",
    "BatchStreams",
    "JobStream",
    "LogStreams",
    "LublinStreams",
    "PoissonStreams",
    "SurrogateStreams",
    "register",
]
