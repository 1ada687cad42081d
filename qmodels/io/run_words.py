"""Words in tables of runs where numbers are looked for: phases by name, and disks that nothing counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phasefit.checks import suggestion
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.run_table import MAX_NAME, MOST, PHASE_NAME, MeasuredRun, about, is_name

Row = tuple[int, dict[str, str]]
Disks = str | Mapping[str, int]

#: Words that say that there is no value; none is a name.
_NOTHING = ("nan", "inf", "infinity", "none", "null", "na", "n/a")
#: Names of a phase that is the whole run.
TOTALS = ("total", "whole", "overall", "elapsed")
#: Phases with such a part in their names are taken as I/O.
_OF_IO = re.compile(
    r"(^|[^a-z])(io|i/o|read|write|input|output|stage|staging|checkpoint|load|store|dump)", re.IGNORECASE
)

_ZERO = re.compile(r"0+\.?0*|\.0+", re.ASCII)

#: Relative, by which parts may add up to more than the whole: clocks of several processes.
_ROUNDING = 0.01
#: Relative to the whole: a rest of less in some run and of more than `_ROUNDING` in another is none.
_HARDLY = 0.001
_SHOWN = 6


@dataclass(frozen=True)
class RunWords:
    """Meaning of the words of a table of measured runs, as in `read_runs`."""

    phases: tuple[str, ...] | None = None  #: those that are read
    disks: Disks | None = None  #: the word that is meant, or how many disks each is

    def check_unused(self, given: str) -> None:
        """Check that nothing is said, of an input that is no table of runs.

        Parameters
        ----------
        given : str
            The input.

        Raises
        ------
        ModelError
            If something is.
        """
        for name, said in (("--phases", self.phases), ("words for disks", self.disks)):
            if said is not None:
                raise ModelError(f"{given} is no table of measured runs: {name} do not go with it")


def is_word(text: str) -> bool:
    """Return whether a cell is a word and no number, not even a damaged one.

    Parameters
    ----------
    text : str
        The cell.

    Examples
    --------
    >>> [is_word(text) for text in ("striped", "burst buffer", "4x", "nan", "-")]
    [True, True, False, False, False]
    """
    return is_name(text) and text[0].isalpha() and text.lower().lstrip("+-") not in _NOTHING


def checked_disks(disks: object) -> Disks | None:
    """Return what was said of disks in words: one of them, or how many disks each is.

    Parameters
    ----------
    disks : str or mapping or None
        As given.

    Raises
    ------
    ModelError
        If it is neither, or a number of disks is none.

    Examples
    --------
    >>> checked_disks({"striped": 48})
    {'striped': 48}
    """
    if disks is None or isinstance(disks, str):
        return disks
    if not isinstance(disks, Mapping):
        raise ModelError(f"disks must be a word or a map from words to numbers, got {disks!r:.60}")
    for word, count in disks.items():
        if type(count) is not int or not 1 <= count <= MOST:
            raise ModelError(
                f"disks: {word!r:.40} must be a whole number from 1 to {MOST}, got {count!r:.40}"
            )
    return dict(disks)


def checked_phases(phases: object) -> Sequence[str] | None:
    """Return the names of the phases that are wanted; None for all.

    Parameters
    ----------
    phases : sequence of str or None
        As given.

    Raises
    ------
    ModelError
        If they are no names, or none.
    """
    if phases is None:
        return None
    if isinstance(phases, Sequence) and not isinstance(phases, str) and phases:
        names = [name for name in phases if isinstance(name, str)]
        if len(names) == len(phases):
            return names
    raise ModelError(f"phases must be names of phases, got {phases!r:.60}")


def counted_disks(file: str, rows: Sequence[Row], disks: Disks | None) -> tuple[list[Row], tuple[str, ...]]:
    """Return rows whose disks are numbers, and what there is to say about words that were there.

    Parameters
    ----------
    file : str
        For messages.
    rows : sequence of (int, dict)
        Line and cells of each run.
    disks : str or mapping or None
        The word whose runs are wanted, or how many disks each word is.

    Raises
    ------
    TraceFormatError
        If words are there and nothing says which is meant, or none is there and one is wanted.
    """
    words = Counter(cells["d"] for _, cells in rows if is_word(cells["d"]))
    if not words:
        if disks is not None:
            raise TraceFormatError(file, "has no words for disks, so none can be chosen or counted")
        return list(rows), ()
    if isinstance(disks, Mapping):
        for word in words:
            if word not in disks:
                raise TraceFormatError(
                    file, f"disks {word[:40]!r} are not counted; {suggestion(word, disks)}"
                )
        counted = [(line, cells | {"d": str(disks.get(cells["d"], cells["d"]))}) for line, cells in rows]
        return counted, ()
    if sum(words.values()) < len(rows):
        line, cells = next(row for row in rows if not is_word(row[1]["d"]))
        word = next(iter(words))
        raise TraceFormatError(
            file,
            f"disks are {cells['d'][:40]!r} here and the word {word[:40]!r} elsewhere; say how "
            f"many disks that is: --disk-counts {word[:40]}=N",
            line=line,
            field="d",
        )
    if disks is None and len(words) > 1:
        named = ", ".join(f"{word[:40]} ({count} rows)" for word, count in words.most_common(_SHOWN))
        counts = ",".join(f"{word[:40]}=N" for word in list(words)[:_SHOWN])
        raise TraceFormatError(
            file,
            f"disks are words, which nothing counts or puts in order: {named}; choose one by --disks "
            f"{next(iter(words))[:40]!r}, or say how many disks each is: --disk-counts {counts}",
        )
    chosen = next(iter(words)) if disks is None else disks
    if chosen not in words:
        raise TraceFormatError(
            file, f"no run has the disks {chosen[:40]!r}; {suggestion(chosen, words, 'it has')}"
        )
    kept = [(line, cells | {"d": "1"}) for line, cells in rows if cells["d"] == chosen]
    return kept, (
        f"Disks are the word {chosen!r}, which is no number: the {len(kept)} rows with it are used, "
        f"'1 disk' stands for it, and what other disks would do cannot be told.",
    )


def numbered_phases(
    file: str, rows: Sequence[Row], wanted: Sequence[str] | None, *, kinds: bool
) -> list[Row]:
    """Return rows whose phases are numbers, with their names beside them.

    Parameters
    ----------
    file : str
        For messages.
    rows : sequence of (int, dict)
        Line and cells of each run.
    wanted : sequence of str or None
        Names of the phases that are to be read; by default all.
    kinds : bool
        Whether the table says which phases are I/O.

    Raises
    ------
    TraceFormatError
        If some phases are words and others numbers, or one that is wanted is not there.
    """
    names = dict.fromkeys(cells["phase"] for _, cells in rows if is_word(cells["phase"]))
    if not names:
        if wanted is not None:
            raise TraceFormatError(file, "phases have no names, so none can be chosen by one")
        return list(rows)
    others = [row for row in rows if row[1]["phase"] not in names]
    if others:
        named = [row for row in rows if row[1]["phase"] in names]
        (line, cells), (_, elsewhere) = (x[0] for x in sorted((others, named), key=len))
        raise TraceFormatError(
            file,
            f"the phase is {cells['phase'][:40]!r} here and {elsewhere['phase'][:40]!r} elsewhere; name all "
            f"phases or number all",
            line=line,
            field="phase",
        )
    for name in wanted or ():
        if name not in names:
            raise TraceFormatError(file, f"has no phase {name[:40]!r}; {suggestion(name, names, 'it has')}")
    chosen = [(line, cells) for line, cells in rows if wanted is None or cells["phase"] in wanted]
    number = {name: str(n) for n, name in enumerate(dict.fromkeys(c["phase"] for _, c in chosen), start=1)}
    has_total = any(name.lower() in TOTALS for name in number)
    found = []
    for line, cells in chosen:
        name = cells["phase"]
        if has_total and name.lower() not in TOTALS and _ZERO.fullmatch(cells["seconds"]):
            continue  # the total holds it
        kind = cells["kind"] if kinds else _kind_of(name)
        found.append((line, cells | {"phase": number[name], "kind": kind, PHASE_NAME: name}))
    return found


def kinds_note(runs: Sequence[tuple[int, MeasuredRun]]) -> tuple[str, ...]:
    """Return which phases were taken as I/O, where their names had to tell.

    Parameters
    ----------
    runs : sequence of (int, MeasuredRun)
        Each with the number of its line.

    Returns
    -------
    notes : tuple of str
        A sentence, or none.
    """
    kinds = {run.phase_name: run.kind for _, run in runs if run.phase_name.lower() not in TOTALS}
    if not kinds:
        return ()
    of_io = [name for name, kind in kinds.items() if kind == "io"]
    said = f"{', '.join(of_io)} as I/O and all others" if of_io else "all"
    return (f"The table does not say which phases are I/O: by their names, {said} as computation.",)


def _kind_of(name: str) -> str:
    """Return what a phase is by its name; a whole run may need processors and disks both."""
    return "io" if name.lower() in TOTALS or _OF_IO.search(name) else "cpu"


def parts_of_totals(
    runs: Sequence[tuple[int, MeasuredRun]], *, counted: bool = False
) -> tuple[list[tuple[int, MeasuredRun]], tuple[str, ...]]:
    """Return runs whose phases add up: of a total and its parts the parts and a rest, or the total alone.

    Parameters
    ----------
    runs : sequence of (int, MeasuredRun)
        Each with the number of its line.
    counted : bool
        Whether repeats were counted in the order of the rows, which may mix the phases of several runs.

    Returns
    -------
    runs : list of (int, MeasuredRun)
        Phases numbered in the order in which they come first.
    notes : tuple of str
        What was done, a sentence for each program.
    """
    found: list[tuple[int, MeasuredRun]] = []
    notes: list[str] = []
    by_program: dict[str, list[tuple[int, MeasuredRun]]] = {}
    for row in runs:
        by_program.setdefault(row[1].program, []).append(row)
    for program, own in by_program.items():
        names = dict.fromkeys(run.phase_name for _, run in own)
        totals = [name for name in names if name.lower() in TOTALS]
        if len(totals) == 1 and len(names) > 1:
            parted, note = _split_total(program, own, totals[0])
            notes.append(note)
            if counted and parted[0][1].phase_name == totals[0] and any(run.repeat > 1 for _, run in own):
                notes.append(
                    f"{about(program)}repeats were counted in the order of the rows: where that mixes the "
                    f"phases of several runs, name the column of their numbers: repeat=NAME."
                )
            found += parted
        else:
            found += own
    return found, tuple(notes)


def _key(run: MeasuredRun) -> tuple[object, ...]:
    return run.p, run.d, run.repeat, run.nodes, run.work


def _split_total(
    program: str, runs: list[tuple[int, MeasuredRun]], total: str
) -> tuple[list[tuple[int, MeasuredRun]], str]:
    """Return the parts of a program's runs and their rest, or its total alone; and a sentence on it."""
    whole = {_key(run): (line, run) for line, run in runs if run.phase_name == total}
    parts: dict[str, dict[tuple[object, ...], tuple[int, MeasuredRun]]] = {}
    for line, run in runs:
        if run.phase_name != total and _key(run) in whole:
            parts.setdefault(run.phase_name, {})[_key(run)] = (line, run)
    kept = {name: timed for name, timed in parts.items() if len(timed) == len(whole)}
    rest = {
        key: run.seconds - sum(timed[key][1].seconds for timed in kept.values())
        for key, (_, run) in whole.items()
    }
    shares = {key: rest[key] / whole[key][1].seconds for key in whole}
    least, most = min(shares, key=shares.__getitem__), max(shares.values())
    small = most <= _ROUNDING and shares[least] >= -_ROUNDING
    if not kept or not (small or shares[least] >= _HARDLY):
        alone = [(line, run._replace(phase=1)) for line, run in whole.values()]
        if not kept:
            return alone, f"{about(program)}no part was timed in every run, so {total!r} alone is used."
        line, run = whole[least]
        added = run.seconds - rest[least]
        return alone, (
            f"{about(program)}its phases do not add up to {total!r} (line {line}: they make {added:.4g} "
            f"of {run.seconds:.4g} s), so that alone is used; --phases names those to be added up instead."
        )
    found = []
    for number, timed in enumerate(kept.values(), start=1):
        found += [(line, run._replace(phase=number)) for line, run in timed.values()]
    listed = ", ".join(kept)
    if small:
        return found, f"{about(program)}{listed} add up to {total!r} and are used in its place."
    name = next(name for name in ("rest", "remainder", "what is left") if name not in parts)[:MAX_NAME]
    found += [
        (line, run._replace(phase=len(kept) + 1, kind="cpu", phase_name=name, seconds=rest[key]))
        for key, (line, run) in whole.items()
    ]
    left = [part for part in parts if part not in kept]
    with_it = f", with {', '.join(left)}, which not every run has" if left else ""
    return found, f"{about(program)}{name!r} is {total!r} less {listed}{with_it}."
