"""Plain queues as in the textbooks, queues whose jobs have priorities, and queues over time."""

from qmodels.queues.breakdowns import BreakdownQueue
from qmodels.queues.changing import CyclicQueue, QueueOverTime, drain_time, queue_at
from qmodels.queues.priorities import PriorityClass, PriorityQueue
from qmodels.queues.textbook import Queue

__all__ = [
    "BreakdownQueue",
    "CyclicQueue",
    "PriorityClass",
    "PriorityQueue",
    "Queue",
    "QueueOverTime",
    "drain_time",
    "queue_at",
]
