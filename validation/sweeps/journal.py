"""A journal: what campaigns have computed so far, in one SQLite file that outlives any crash.

One process writes, the one that hands out the work; any may read. The rollback journal of SQLite is
used and not its write-ahead log, which does not work on network file systems.

Campaigns live in one file beside each other. None takes away what is another's: a result goes when
every campaign that computed it or asked for it has ended, and the file with the last of them.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from qmodels.errors import ModelError
from qmodels.locks import FileLock, held_lock
from validation.sweeps.journal_file import JournalReader, connected, lay_out, raise_in_words

#: A commit waits until this many times its own duration have passed since the last, so that it
#: costs two per cent of the time at most; and never longer than so many seconds.
_PATIENCE, _LONGEST = 50.0, 0.5
#: Seconds without a sign of life after which a writer on another machine is taken for dead, where
#: the file system has no locks.
_SILENT: Final = 300.0


@dataclass(frozen=True)
class Kept:
    """One finished piece of work."""

    key: str  #: of the task and its version, see `validation.sweeps.points`
    value: str  #: from `validation.sweeps.plain.to_text`
    seconds: float = 0.0  #: CPU time that it took


@dataclass(frozen=True)
class Campaign:
    """Work whose results belong together: what is asked for, by whichever command, again."""

    kind: str = ""  #: what computes, such as the name of a command
    what: str = ""  #: text that only the same work of that kind has, such as a digest of its inputs


#: Work that lives alone in its journal.
ALONE: Final = Campaign()


class Journal:
    """A journal, open for writing by one campaign.

    Parameters
    ----------
    file : Path
        Made if it is not there.
    version : str
        Version of what computes, from `validation.sweeps.version.code_version`.
    campaign : Campaign
        Whose results are written; those of others stay as they are.
    reuse : bool
        Accept results that another version has written: of this campaign, else of the last one of
        its kind.
    command : str
        How the campaign is gone on with; it is said where it stops.

    Raises
    ------
    ModelError
        If another process writes the journal, another version has written this campaign's results,
        it is no journal, or the disk is full.

    Notes
    -----
    A result counts as finished once it is committed, which the disk then has. The first result of
    a key stays; how many came is counted in column ``times``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(Path(folder) / "small.journal", version="1") as journal:
    ...         journal.add([Kept("a", "1.5")])
    ...         journal.known("a"), journal.known("b")
    ('1.5', None)
    """

    def __init__(
        self,
        file: Path,
        *,
        version: str,
        campaign: Campaign = ALONE,
        reuse: bool = False,
        command: str = "",
    ) -> None:
        self.file, self.version, self.command = file, version, command
        self.campaign = campaign
        self._guard = threading.RLock()
        self._lock_file = file.with_name(f"{file.name}.lock")
        self._lock = self._locked()
        self._session = self._finished = self._campaign = 0
        self._asked: set[str] = set()  # keys that this session has computed or found
        #: version in the keys: the one under which the campaign was begun
        self.key_version = version
        self._last, self._cost, self._waiting = time.monotonic(), 0.0, 0
        self._open: sqlite3.Connection | None = None
        try:
            self._open = connected(file)
            with self._errors_in_words():
                self._begin(reuse)
        except BaseException:
            self.close()
            raise

    def _locked(self) -> FileLock | None:
        try:
            if self.file.is_dir():
                raise ModelError(f"{self.file}: is a folder; name a file for the journal")
            return held_lock(self._lock_file)
        except BlockingIOError:
            raise ModelError(
                f"{self.file}: {_writer_in_words(self.file)} is writing this journal; wait for it to end, "
                f"or name another journal"
            ) from None
        except OSError as error:
            raise ModelError(f"{self.file}: cannot be written to ({error.strerror})") from None

    def _begin(self, reuse: bool) -> None:
        """Check what is there and enter this session."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        lay_out(db)
        if self._lock is None:
            self._refuse_living_writer()
        self._campaign, begun = self._number_and_version()
        self._finished = self.count()
        if not self._finished:
            begun = (self._last_version_of_kind() if reuse else None) or self.version
        if begun != self.version and not reuse:
            raise ModelError(self._other_version_text(begun))
        self.key_version = begun
        db.execute(
            "UPDATE campaign SET version = ?, command = ? WHERE number = ?",
            (begun, self.command, self._campaign),
        )
        db.execute(
            "INSERT INTO session (began, beat, host, pid, version, command, campaign) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                _now(),
                time.time(),
                socket.gethostname(),
                os.getpid(),
                self.version,
                self.command,
                self._campaign,
            ),
        )
        session = int(db.execute("SELECT last_insert_rowid()").fetchone()[0])
        db.execute("COMMIT")  # may find the disk full: then there is no session to end
        self._session = session

    def _number_and_version(self) -> tuple[int, str]:
        """Number of the campaign in this file, and the version under which it was begun."""
        mine = (self.campaign.kind, self.campaign.what)
        self._db.execute(
            "INSERT OR IGNORE INTO campaign (kind, what, version, command) VALUES (?, ?, ?, ?)",
            (*mine, self.version, self.command),
        )
        number, version = self._db.execute(
            "SELECT number, version FROM campaign WHERE kind = ? AND what = ?", mine
        ).fetchone()
        return int(number), str(version)

    def _last_version_of_kind(self) -> str | None:
        """Version of the campaign of this kind, with results, that was worked on last."""
        row = self._db.execute(
            "SELECT campaign.version FROM session JOIN campaign ON campaign.number = "
            "session.campaign WHERE kind = ? AND campaign.number IN (SELECT campaign FROM result) "
            "ORDER BY session.number DESC LIMIT 1",
            (self.campaign.kind,),
        ).fetchone()
        return None if row is None else str(row[0])

    def _other_version_text(self, begun: str) -> str:
        others = sum(count for count, _ in self.others())
        removed = f", with {others:,} of other commands in it," if others else ""
        return (
            f"{self.file}: its {self._finished:,} results are of another version of the code "
            f"({begun}; this is {self.version}); --reuse takes them as they are, else name another "
            f"output, or remove the file{removed} to compute them anew"
        )

    def _refuse_living_writer(self) -> None:
        row = self._db.execute(
            "SELECT host, pid, beat FROM session WHERE ended IS NULL ORDER BY number DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return
        host, pid, beat = row
        here = host == socket.gethostname()
        if _alive(pid) if here else time.time() - beat < _SILENT:
            raise ModelError(
                f"{self.file}: process {pid} on {host} is writing this journal; wait for it to "
                f"end, or name another journal"
            )

    @property
    def _db(self) -> sqlite3.Connection:
        if self._open is None:
            raise ModelError(f"{self.file}: this journal is closed")
        return self._open

    def _errors_in_words(self) -> _Words:
        return _Words(self)

    def finished(self) -> str:
        """Return a sentence on what is kept so far; asks nothing of the file."""
        runs = "run is" if self._finished == 1 else "runs are"
        return f"{self._finished:,} finished {runs} kept in {self.file}"

    def others(self) -> list[tuple[int, str]]:
        """Return the number of results of each other campaign, and the command that goes on with it."""
        with self._guard, self._errors_in_words():
            return self._db.execute(
                "SELECT count(*), command FROM result JOIN campaign ON campaign = number "
                "WHERE number != ? GROUP BY number ORDER BY number",
                (self._campaign,),
            ).fetchall()

    def known(self, key: str) -> str | None:
        """Return the result of a key, or None.

        Parameters
        ----------
        key : str
            Key of a task.
        """
        kept = self.remembered(key)
        return None if kept is None else kept.value

    def remembered(self, key: str) -> Kept | None:
        """Return all that is kept of a key, or None; a result of another campaign is shared from now.

        Parameters
        ----------
        key : str
            Key of a task.
        """
        with self._guard, self._errors_in_words():
            row = self._db.execute(
                "SELECT key, value, seconds, campaign FROM result WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            self._asked.add(key)
            if row[3] != self._campaign:
                self._begin_transaction()
                self._waiting += self._db.execute(
                    "INSERT OR IGNORE INTO shared VALUES (?, ?)", (key, self._campaign)
                ).rowcount
            return Kept(*row[:3])

    def _begin_transaction(self) -> None:
        """Be within a transaction that writes."""
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def known_keys(self) -> dict[str, float]:
        """Return the keys of all results, with the CPU time that each took."""
        with self._guard, self._errors_in_words():
            return dict(self._db.execute("SELECT key, seconds FROM result"))

    def count(self) -> int:
        """Return the number of results of this campaign."""
        with self._guard, self._errors_in_words():
            return int(
                self._db.execute(
                    "SELECT count(*) FROM result WHERE campaign = ?1 OR key IN "
                    "(SELECT key FROM shared WHERE campaign = ?1)",
                    (self._campaign,),
                ).fetchone()[0]
            )

    def add(self, results: Iterable[Kept]) -> None:
        """Write down results; they are on the disk after the next commit, which may be this one.

        Parameters
        ----------
        results : iterable of Kept
            The results.

        Raises
        ------
        ModelError
            If the disk is full; what was committed stays.
        """
        with self._guard, self._errors_in_words():
            self._begin_transaction()
            for each in results:
                self._db.execute(
                    "INSERT INTO result (key, version, value, seconds, campaign, session) VALUES "
                    "(?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET times = times + 1",
                    (each.key, self.version, each.value, each.seconds, self._campaign, self._session),
                )
                self._asked.add(each.key)
                self._waiting += 1  # one too many for a key that was there
            waited = time.monotonic() - self._last
            if waited >= min(_PATIENCE * self._cost, _LONGEST):
                self.commit()

    def fail(self, key: str, what: str) -> None:
        """Write down that a task could not be done, for those who look; it is tried again.

        Parameters
        ----------
        key : str
            Key of the task.
        what : str
            Reason.
        """
        with self._guard, self._errors_in_words():
            self._begin_transaction()
            self._db.execute("INSERT OR REPLACE INTO failure VALUES (?, ?, ?)", (self._campaign, key, what))

    def failures(self) -> dict[str, str]:
        """Return the keys of this campaign that could not be done, and why."""
        with self._guard, self._errors_in_words():
            return dict(
                self._db.execute(
                    "SELECT key, what FROM failure WHERE campaign = ? AND key NOT IN "
                    "(SELECT key FROM result)",
                    (self._campaign,),
                )
            )

    def commit(self) -> None:
        """Make the disk hold all that was added."""
        with self._guard, self._errors_in_words():
            if self._db.in_transaction:
                began = time.monotonic()
                self._db.execute("UPDATE session SET beat = ? WHERE number = ?", (time.time(), self._session))
                self._db.execute("COMMIT")
                self._last = time.monotonic()
                self._cost = self._last - began
                self._finished, self._waiting = self._finished + self._waiting, 0

    def describe(self, told: str, settings: Iterable[str]) -> None:
        """Write down what the campaign is, and name its points in their order.

        Parameters
        ----------
        told : str
            The campaign, in words.
        settings : iterable of str
            Settings of each point.
        """
        with self._guard, self._errors_in_words():
            self._begin_transaction()
            self._db.execute("UPDATE campaign SET told = ? WHERE number = ?", (told, self._campaign))
            self._db.execute("DELETE FROM point WHERE campaign = ?", (self._campaign,))
            self._db.executemany(
                "INSERT INTO point VALUES (?, ?, ?)",
                ((self._campaign, place, text) for place, text in enumerate(settings)),
            )
            self.commit()

    def close(self, *, ended: bool = False, unless_empty: bool = False) -> None:
        """Commit and let the file go.

        Parameters
        ----------
        ended : bool
            What came of the campaign is written down elsewhere: take away what it computed or
            asked for here, but for what other campaigns have asked for too; and the file, if no
            other campaign has results in it.
        unless_empty : bool
            Take the file away if nobody has results in it.
        """
        with self._guard:
            try:
                if self._open is not None:
                    remove = self._let_go(self._open, ended) and (ended or unless_empty)
                    for left in (self.file, self.file.with_name(f"{self.file.name}-journal")):
                        if remove:
                            left.unlink(missing_ok=True)
            finally:  # also where a signal or a full disk ended the last commit
                if self._lock is not None:
                    self._lock.give_up()
                    self._lock = None

    def _let_go(self, db: sqlite3.Connection, ended: bool) -> bool:
        """End the session; whether nobody has results in the file."""
        empty = False
        try:
            with self._errors_in_words():
                if self._session:
                    self._end(ended)
                    empty = db.execute("SELECT 1 FROM result LIMIT 1").fetchone() is None
        finally:
            with suppress(sqlite3.Error):
                db.close()
            self._open = None
        return empty

    def _end(self, ended: bool) -> None:
        self._begin_transaction()
        if ended:
            self._take_away()
        self._db.execute("UPDATE session SET ended = ? WHERE number = ?", (_now(), self._session))
        self._db.execute("COMMIT")

    def _take_away(self) -> None:
        """Remove what this session has asked for; of what others have asked for too, one is the heir."""
        db, mine = self._db, (self._campaign,)
        db.execute("CREATE TEMP TABLE asked (key TEXT PRIMARY KEY)")
        db.executemany("INSERT INTO asked VALUES (?)", ((key,) for key in self._asked))
        db.execute("DELETE FROM shared WHERE campaign = ? AND key IN (SELECT key FROM asked)", mine)
        db.execute(
            "UPDATE result SET campaign = (SELECT min(campaign) FROM shared WHERE shared.key = "
            "result.key) WHERE campaign = ? AND key IN (SELECT key FROM asked) AND key IN "
            "(SELECT key FROM shared)",
            mine,
        )
        db.execute(
            "DELETE FROM shared WHERE EXISTS (SELECT 1 FROM result WHERE result.key = shared.key "
            "AND result.campaign = shared.campaign)"
        )
        db.execute("DELETE FROM result WHERE campaign = ? AND key IN (SELECT key FROM asked)", mine)
        db.execute("DELETE FROM failure WHERE campaign = ?", mine)
        if not self.count():
            db.execute("DELETE FROM point WHERE campaign = ?", mine)
            db.execute("DELETE FROM campaign WHERE number = ?", mine)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Words:
    """Turns an error of SQLite into a sentence; what was not committed is taken back."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, sqlite3.Error):
            return
        db = self.journal._open
        if db is not None:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            self.journal._waiting = 0
        raise_in_words(self.journal.file, error)


def _writer_in_words(file: Path) -> str:
    """Return who seems to be writing a journal, in words."""
    with suppress(ModelError, sqlite3.Error), JournalReader(file) as reader:
        for _, ended, host, pid, _, _ in reversed(reader.sessions()):
            if ended is None:
                return f"process {pid} on {host}"
    return "another process"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
