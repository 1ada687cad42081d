"""Options that say disks and phases of tables of runs in words, such as ``striped``."""

from __future__ import annotations

from typing import NamedTuple

from qmodels.commands.options import column_map
from qmodels.errors import ModelError
from qmodels.io.run_words import Disks, RunWords, is_word


class SaidDisks(NamedTuple):
    """Options with numbers in the place of words, and what the reader of runs is told of these."""

    disks: str | None  #: for `--disks`
    target: str | None  #: for `--target`
    of_runs: Disks | None  #: the word that is meant, or how many disks each word is


def said_disks(disks: str | None, target: str | None, counts: str | None) -> SaidDisks:
    """Return what `--disks`, `--target` and `--disk-counts` say of disks.

    Parameters
    ----------
    disks, target, counts : str or None
        As given.

    Raises
    ------
    ModelError
        If words are said that are not counted and are not one and the same.

    Examples
    --------
    >>> said_disks(None, "512,striped", "striped=48")
    SaidDisks(disks=None, target='512,48', of_runs={'striped': 48})
    >>> said_disks("burst buffer", "512,burst buffer", None)
    SaidDisks(disks=None, target='512,1', of_runs='burst buffer')
    """
    number = _counts(counts)
    processors, _, on = (target or "").partition(",")
    named = [part.strip() for part in (disks or "").split(",")], [on.strip()]
    words = {part for parts in named for part in parts if is_word(part)}
    if not words:
        return SaidDisks(disks, target, number)
    if number is None:
        if len(words) > 1 or (disks and len(named[0]) > 1):
            raise ModelError(
                f"--disks: words have no order; give one of them ({', '.join(sorted(words))[:60]}), or "
                f"say how many disks each is: --disk-counts {min(words)[:40]}=N"
            )
        word = words.pop()
        if on.strip() not in ("", "1", word):
            raise ModelError(
                f"--target: {on.strip()[:40]!r} disks, where --disks is the word {word[:40]!r}; write "
                f"--target {processors[:20]},{word[:40]!r}"
            )
        return SaidDisks(None, None if target is None else f"{processors},1", word)
    for word in words - number.keys():
        raise ModelError(f"--disk-counts does not say how many disks {word[:40]!r} is; add {word[:40]}=N")
    counted = ",".join(str(number.get(part, part)) for part in named[0])
    return SaidDisks(
        None if disks is None else counted,
        None if target is None else f"{processors},{number.get(on.strip(), on)}",
        number,
    )


def run_words(phases: str | None, said: SaidDisks) -> RunWords:
    """Return what the reader of runs is told of the words of a table.

    Parameters
    ----------
    phases : str or None
        The option `--phases`, as given.
    said : SaidDisks
        What is said of disks.

    Examples
    --------
    >>> run_words("io, comm", said_disks("striped", None, None))
    RunWords(phases=('io', 'comm'), disks='striped')
    """
    named = None if phases is None else tuple(filter(None, (part.strip() for part in phases.split(","))))
    return RunWords(named, said.of_runs)


def _counts(text: str | None) -> dict[str, int] | None:
    """Read striped=48,unstriped=1."""
    counts: dict[str, int] = {}
    for word, count in (column_map("--disk-counts", text) or {}).items():
        if not (count.isascii() and count.isdigit() and len(count) <= 9 and int(count) >= 1):
            raise ModelError(
                f"--disk-counts: {word[:40]} is {count[:40]!r}, no whole number from 1 to 999999999"
            )
        counts[word] = int(count)
    return counts or None
