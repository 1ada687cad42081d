"""Which trace events are reads, writes, other I/O or computation: by category and name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from phasefit.checks import one_of
from qmodels.errors import ModelError
from qmodels.programs.traces import KINDS

LAYERS = ("posix", "stdio")  #: categories that count as I/O; higher layers go through them

READS = frozenset(
    (
        "read",
        "pread",
        "pread64",
        "readv",
        "preadv",
        "preadv2",
        "preadv64",
        "aio_read",
        "fread",
        "fread_unlocked",
        "fgets",
        "fgetc",
        "getc",
        "getline",
        "fscanf",
    )
)
WRITES = frozenset(
    (
        "write",
        "pwrite",
        "pwrite64",
        "writev",
        "pwritev",
        "pwritev2",
        "pwritev64",
        "aio_write",
        "fwrite",
        "fwrite_unlocked",
        "fputs",
        "fputc",
        "putc",
        "fprintf",
    )
)

READ, WRITE, IO, COMPUTE = range(len(KINDS))

IGNORED: Final = "none"
_MOST_PATTERN = 200


class EventKinds:
    """What an event is, by the rules given and then by those that hold for all tracers.

    Parameters
    ----------
    rules : mapping of str to str, optional
        From a pattern to a kind, or to ``none`` for what is to be left out; the first that fits
        decides. A pattern is ``CATEGORY:NAME`` or, for either, one word; ``*`` and ``?`` stand
        for any letters, and capitals do not count.

    Raises
    ------
    ModelError
        If a rule is none.

    Notes
    -----
    Without a rule that fits: I/O is what has the category POSIX or STDIO, for libraries and
    frameworks above go through them and would count twice. Computation is what has the category
    or name ``compute``, or a name that ends in ``.compute``, as ``TorchFramework.compute``.

    Examples
    --------
    >>> EventKinds({"train:step": "compute"}).kind("step", "train") == KINDS.index("compute")
    True
    """

    def __init__(self, rules: Mapping[str, str] | None = None) -> None:
        self._rules = [_rule(pattern, kind) for pattern, kind in (rules or {}).items()]
        self._known: dict[tuple[str, str], int | None] = {}

    def kind(self, name: str, category: str) -> int | None:
        """Index of the kind of an event, if it is of one."""
        key = name, category
        if key not in self._known:
            if len(self._known) > 100_000:  # names that hold numbers, each another one
                self._known.clear()
            self._known[key] = self._decided(name, category)
        return self._known[key]

    def _decided(self, name: str, category: str) -> int | None:
        for pattern, kind in self._rules:
            words = (f"{category}:{name}",) if ":" in pattern else (category, name)
            if any(fnmatchcase(word, pattern) for word in words):
                return kind
        if category in LAYERS:
            call = name.lstrip("_")
            return READ if call in READS else WRITE if call in WRITES else IO
        computes = "compute" in (name, category) or name.endswith(".compute")
        return COMPUTE if computes else None


def event_rules(options: Iterable[str]) -> dict[str, str]:
    """Read rules as a command line has them: ``PATTERN=KIND``.

    Examples
    --------
    >>> event_rules(["ai_framework:*=compute", "reader=none"])
    {'ai_framework:*': 'compute', 'reader': 'none'}
    """
    rules: dict[str, str] = {}
    for option in options:
        pattern, equals, kind = option.rpartition("=")
        if not equals:
            raise ModelError(
                f"an event is mapped by PATTERN=KIND such as 'train:*=compute', got {option!r:.60}"
            )
        if pattern in rules:
            raise ModelError(f"events {pattern[:40]!r} are mapped twice; map them once")
        rules[pattern] = kind
    for pattern, kind in rules.items():
        _rule(pattern, kind)
    return rules


def _rule(pattern: object, kind: object) -> tuple[str, int | None]:
    if not isinstance(pattern, str) or not 0 < len(pattern.strip()) <= _MOST_PATTERN:
        raise ModelError(f"a pattern of events must have 1 to {_MOST_PATTERN} letters, got {pattern!r:.60}")
    one_of(f"the kind of events {pattern[:40]!r}", kind, (*KINDS, IGNORED))
    return pattern.strip().lower(), None if kind == IGNORED else KINDS.index(str(kind))
