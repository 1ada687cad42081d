"""How a job ended: the words of batch systems as the codes of the Standard Workload Format."""

from __future__ import annotations

from collections import Counter

from qmodels.io._swf_log import STATUS

NOT_KNOWN = -1
_FAILED, _COMPLETED, _CANCELLED = STATUS["failed"], STATUS["completed"], STATUS["cancelled"]

#: States of Slurm. Who did not end by itself or by a user's word has failed; a job that still
#: waits or runs has no end.
SLURM = {
    "BOOT_FAIL": _FAILED,
    "CANCELLED": _CANCELLED,
    "COMPLETED": _COMPLETED,
    "COMPLETING": NOT_KNOWN,
    "CONFIGURING": NOT_KNOWN,
    "DEADLINE": _FAILED,
    "FAILED": _FAILED,
    "NODE_FAIL": _FAILED,
    "OUT_OF_MEMORY": _FAILED,
    "PENDING": NOT_KNOWN,
    "PREEMPTED": _FAILED,
    "REQUEUED": _FAILED,
    "RESIZING": NOT_KNOWN,
    "REVOKED": _CANCELLED,
    "RUNNING": NOT_KNOWN,
    "SIGNALING": NOT_KNOWN,
    "STOPPED": NOT_KNOWN,
    "SUSPENDED": NOT_KNOWN,
    "TIMEOUT": _FAILED,
}
#: States in which a job may have ended without having begun: its start and end are then the same.
NEVER_RAN = frozenset({"CANCELLED", "DEADLINE", "REVOKED"})
#: States of jobs that wait and of jobs that hold processors: no end that they bear is theirs.
WAITS = frozenset({"PENDING", "QUEUED", "WAITING", "HELD"})
RUNS = frozenset({"CONFIGURING", "RESIZING", "RUNNING", "SIGNALING", "STOPPED", "SUSPENDED"})

#: Further words of tables, of Batsim and of people, in lower case.
_OTHERS = {
    "completed_successfully": _COMPLETED,
    "completed_failed": _FAILED,
    "completed_walltime_reached": _FAILED,
    "completed_killed": _CANCELLED,
    "rejected": _CANCELLED,
    "success": _COMPLETED,
    "successful": _COMPLETED,
    "done": _COMPLETED,
    "finished": _COMPLETED,
    "passed": _COMPLETED,
    "failure": _FAILED,
    "error": _FAILED,
    "exit": _FAILED,
    "canceled": _CANCELLED,
    "killed": _CANCELLED,
}
_KNOWN = {word.lower(): code for word, code in SLURM.items()} | _OTHERS
_KNOWN |= {word.lower(): NOT_KNOWN for word in WAITS}

Time = float | None


def times_of(state: str, start: Time, end: Time) -> tuple[Time, Time]:
    """Start and end of a job by its state; None for what it has not come to.

    A job that waits or runs has no end, though `sacct --truncate` gives it that of the period.
    """
    if state in WAITS:
        return None, None
    if state in RUNS:
        return start, None
    if start is not None and start == end and state in NEVER_RAN:
        return None, end
    return start, end


class States:
    """Reads words for states; counts those that it does not know.

    Examples
    --------
    >>> states = States()
    >>> states.state("CANCELLED by 1000"), states.state("OUT_OF_ME+"), states.code("Done")
    ('CANCELLED', 'OUT_OF_MEMORY', 1)
    >>> states.code("EVICTED"), dict(states.unknown)
    (-1, {'EVICTED': 1})
    """

    def __init__(self) -> None:
        self.unknown: Counter[str] = Counter()
        self.without_end = 0  # that bear one

    def state(self, text: str) -> str:
        """The state of Slurm that a field holds, cut or with a name behind it; else the word."""
        word = text.partition(" ")[0].upper()
        if word in SLURM or not word.endswith("+"):
            return word
        whole = [name for name in SLURM if name.startswith(word[:-1])]
        return whole[0] if len(whole) == 1 and len(word) > 2 else word

    def code(self, word: str) -> int:
        """The code of a word in any case; -1 for one that is not known, which is counted."""
        found = _KNOWN.get(word.lower())
        if found is None:
            found = NOT_KNOWN
            if word and (len(self.unknown) < 1000 or word in self.unknown):
                self.unknown[word[:40]] += 1
        return found

    def times(self, state: str, start: Time, end: Time) -> tuple[Time, Time]:
        """As `times_of`; ends of jobs that have none are counted."""
        found = times_of(state, start, end)
        self.without_end += end is not None and found[1] is None
        return found

    def notes(self) -> list[str]:
        """Sentences on ends of jobs that have none, and on words that were not known."""
        found = []
        if self.without_end:
            found.append(
                f"Jobs that still wait or run though an end is written for them, not taken for "
                f"ended: {self.without_end:,}. sacct --truncate writes such ends, and cuts the "
                f"times of jobs that ended too where these ran past the period that was asked "
                f"for; leave it out."
            )
        if not self.unknown:
            return found
        words = ", ".join(f"{word!a} {n:,}" for word, n in self.unknown.most_common(5))
        more = f" and {len(self.unknown) - 5} others" if len(self.unknown) > 5 else ""
        return [*found, f"Jobs in a state that is not known here, kept: {words}{more}."]
