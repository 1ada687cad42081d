"""One queue with one or several servers, simulated under any of the usual disciplines."""

from validation.queues.simulator import DISCIPLINES, QueueRun, simulate_queue

__all__ = ["DISCIPLINES", "QueueRun", "simulate_queue"]
