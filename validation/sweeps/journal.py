"""A journal: what a campaign has computed so far, in one SQLite file that outlives any crash.

One process writes, the one that hands out the work; any may read. The rollback journal of SQLite is
used and not its write-ahead log, which does not work on network file systems.
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
from typing import Any, Final, NoReturn

from qmodels.errors import ModelError
from qmodels.locks import FileLock, held_lock

#: Number in the header of the file, and layout of the tables in it.
_APPLICATION, _LAYOUT = 0x716D6A6C, 1
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS campaign (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS point (place INTEGER PRIMARY KEY, settings TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS result (
    key TEXT PRIMARY KEY, version TEXT NOT NULL, value TEXT NOT NULL, seconds REAL NOT NULL,
    session INTEGER NOT NULL, times INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS failure (key TEXT PRIMARY KEY, what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS session (
    number INTEGER PRIMARY KEY, began TEXT NOT NULL, beat REAL NOT NULL, ended TEXT,
    host TEXT NOT NULL, pid INTEGER NOT NULL, version TEXT NOT NULL, command TEXT NOT NULL
);
"""
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


class Journal:
    """The journal of one campaign, open for writing.

    Parameters
    ----------
    file : Path
        Made if it is not there.
    version : str
        Version of what computes, from `validation.sweeps.version.code_version`.
    reuse : bool
        Accept results that another version has written.
    command : str
        How the campaign is gone on with; it is said where it stops.

    Raises
    ------
    ModelError
        If another process writes the journal, another version has written it, it is no journal, or
        the disk is full.

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

    def __init__(self, file: Path, *, version: str, reuse: bool = False, command: str = "") -> None:
        self.file, self.version, self.command = file, version, command
        self._guard = threading.RLock()
        self._lock_file = file.with_name(f"{file.name}.lock")
        self._lock = self._locked()
        self._session = self._finished = 0
        #: version in the keys: the one under which the campaign was begun
        self.key_version = version
        self._last, self._cost, self._waiting = time.monotonic(), 0.0, 0
        self._open: sqlite3.Connection | None = None
        try:
            self._open = _connected(file)
            with self._said():
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
                f"{self.file}: {_writer(self.file)} is writing this journal; wait for it to end, "
                f"or name another journal"
            ) from None
        except OSError as error:
            raise ModelError(f"{self.file}: cannot be written to ({error.strerror})") from None

    def _begin(self, reuse: bool) -> None:
        """Check what is there and enter this session."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {_LAYOUT}")
        if self._lock is None:
            self._refuse_living_writer()
        self._finished = int(db.execute("SELECT count(*) FROM result").fetchone()[0])
        row = db.execute("SELECT value FROM campaign WHERE name = 'version'").fetchone()
        begun = self.version if row is None or not self._finished else str(row[0])
        if begun != self.version and not reuse:
            raise ModelError(
                f"{self.file}: its {self._finished:,} results are of another version of the code "
                f"({begun}; this is {self.version}); --reuse takes them as they are, else remove "
                f"the file to compute them anew"
            )
        self.key_version = begun
        db.execute("INSERT OR REPLACE INTO campaign VALUES ('version', ?)", (begun,))
        db.execute(
            "INSERT INTO session (began, beat, host, pid, version, command) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (_now(), time.time(), socket.gethostname(), os.getpid(), self.version, self.command),
        )
        self._session = int(db.execute("SELECT last_insert_rowid()").fetchone()[0])
        db.execute("COMMIT")

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

    def _said(self) -> _Words:
        return _Words(self)

    def finished(self) -> str:
        """What is kept so far, in words; asks nothing of the file."""
        runs = "run is" if self._finished == 1 else "runs are"
        return f"{self._finished:,} finished {runs} kept in {self.file}"

    def known(self, key: str) -> str | None:
        """The result of a key, or None."""
        found = self.remembered(key)
        return None if found is None else found.value

    def remembered(self, key: str) -> Kept | None:
        """All that is known of a key, or None."""
        with self._guard, self._said():
            row = self._db.execute(
                "SELECT key, value, seconds FROM result WHERE key = ?", (key,)
            ).fetchone()
            return None if row is None else Kept(*row)

    def known_keys(self) -> dict[str, float]:
        """Keys of all results, with the CPU time that each took."""
        with self._guard, self._said():
            return dict(self._db.execute("SELECT key, seconds FROM result"))

    def count(self) -> int:
        """How many results there are."""
        with self._guard, self._said():
            return int(self._db.execute("SELECT count(*) FROM result").fetchone()[0])

    def add(self, results: Iterable[Kept]) -> None:
        """Take down results; they are on the disk after the next commit, which may be this one.

        Raises
        ------
        ModelError
            If the disk is full; what was committed stays.
        """
        with self._guard, self._said():
            db = self._db
            if not db.in_transaction:
                db.execute("BEGIN IMMEDIATE")
            for each in results:
                db.execute(
                    "INSERT INTO result (key, version, value, seconds, session) "
                    "VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET times = times + 1",
                    (each.key, self.version, each.value, each.seconds, self._session),
                )
                self._waiting += 1  # one too many for a key that was there
            waited = time.monotonic() - self._last
            if waited >= min(_PATIENCE * self._cost, _LONGEST):
                self.commit()

    def fail(self, key: str, what: str) -> None:
        """Take down that a task could not be done, for those who look; it is tried again."""
        with self._guard, self._said():
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT OR REPLACE INTO failure VALUES (?, ?)", (key, what))

    def failures(self) -> dict[str, str]:
        """Keys that could not be done, and why."""
        with self._guard, self._said():
            return dict(self._db.execute(
                "SELECT key, what FROM failure WHERE key NOT IN (SELECT key FROM result)"
            ))  # fmt: skip

    def commit(self) -> None:
        """Have the disk hold all that was added."""
        with self._guard, self._said():
            if self._db.in_transaction:
                began = time.monotonic()
                self._db.execute(
                    "UPDATE session SET beat = ? WHERE number = ?", (time.time(), self._session)
                )
                self._db.execute("COMMIT")
                self._last = time.monotonic()
                self._cost = self._last - began
                self._finished, self._waiting = self._finished + self._waiting, 0

    def describe(self, name: str, value: str) -> str | None:
        """Say something of the whole campaign; what was said before is given back."""
        with self._guard, self._said():
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            row = self._db.execute("SELECT value FROM campaign WHERE name = ?", (name,)).fetchone()
            self._db.execute("INSERT OR REPLACE INTO campaign VALUES (?, ?)", (name, value))
            self.commit()
            return None if row is None else str(row[0])

    def set_points(self, settings: Iterable[str]) -> None:
        """Name the points of the campaign, in their order."""
        with self._guard, self._said():
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM point")
            self._db.executemany("INSERT INTO point VALUES (?, ?)", enumerate(settings))
            self.commit()

    def close(self, *, remove: bool = False) -> None:
        """Commit and let the file go, or remove it with all that belongs to it."""
        with self._guard:
            try:
                if self._open is not None:
                    self._let_go(self._open)
                if remove:
                    for left in (self.file, self.file.with_name(f"{self.file.name}-journal")):
                        left.unlink(missing_ok=True)
            finally:  # also where a signal or a full disk ended the last commit
                if self._lock is not None:
                    self._lock.give_up()
                    self._lock = None

    def _let_go(self, db: sqlite3.Connection) -> None:
        try:
            with self._said():
                if self._session:
                    self._end()
        finally:
            with suppress(sqlite3.Error):
                db.close()
            self._open = None

    def _end(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("UPDATE session SET ended = ? WHERE number = ?", (_now(), self._session))
        self._db.execute("COMMIT")

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
        _raise(self.journal.file, error)


def _raise(file: Path, error: sqlite3.Error) -> NoReturn:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
        raise ModelError(
            f"{file}: the disk is full or cannot be written to ({error}); all that was finished "
            f"before is kept. Make room and give the same command again"
        ) from None
    if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT") or name.startswith("SQLITE_CORRUPT"):
        raise ModelError(f"{file}: is no journal, or is damaged ({error})") from None
    if name.startswith("SQLITE_BUSY") or name.startswith("SQLITE_LOCKED"):
        raise ModelError(f"{file}: another program holds this journal ({error})") from None
    raise ModelError(f"{file}: {error}") from None


def _connected(file: Path) -> sqlite3.Connection:
    """Open for writing; ModelError unless it is a journal or empty."""
    try:
        db = sqlite3.connect(file, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            layout = db.execute("PRAGMA user_version").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables and application != _APPLICATION:
                raise ModelError(f"{file}: is another program's database; name another journal")
            if tables:
                _refuse_other_layout(file, layout)
            db.execute("PRAGMA journal_mode = DELETE")
            db.execute("PRAGMA synchronous = FULL")
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as error:
        _raise(file, error)
    return db


class JournalReader:
    """A journal open for reading, also while a campaign goes on.

    Raises
    ------
    ModelError
        If there is none or the file is something else.
    """

    def __init__(self, file: Path) -> None:
        if not file.is_file():
            raise ModelError(
                f"{file}: there is no journal; a finished campaign may have removed it"
            )
        self.file = file
        try:
            # The writer's own unfinished commit is waited for, so this must be able to write.
            self._db = sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True, timeout=30.0)
            if self._db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                raise ModelError(f"{file}: is no journal of a campaign")
            _refuse_other_layout(file, self._db.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error as error:
            _raise(file, error)

    def told(self, name: str) -> str | None:
        """What was said of the campaign under a name."""
        row = self._one("SELECT value FROM campaign WHERE name = ?", (name,))
        return None if row is None else str(row[0])

    def points(self) -> list[str]:
        """Settings of all points, in their order."""
        return [text for (text,) in self._all("SELECT settings FROM point ORDER BY place")]

    def results(self) -> dict[str, str]:
        """Every result by its key."""
        return dict(self._all("SELECT key, value FROM result"))

    def repeated(self) -> int:
        """How many finished tasks were computed again."""
        return int(self._one("SELECT coalesce(sum(times - 1), 0) FROM result")[0])  # type: ignore[index]

    def sessions(self) -> list[tuple[Any, ...]]:
        """When, where and by which command the campaign was worked on."""
        return self._all("SELECT began, ended, host, pid, version, command FROM session")

    def versions(self) -> list[str]:
        """Versions of the code that wrote results."""
        return [v for (v,) in self._all("SELECT DISTINCT version FROM result ORDER BY version")]

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def __enter__(self) -> JournalReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query).fetchall()
        except sqlite3.Error as error:
            _raise(self.file, error)

    def _one(self, query: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        try:
            row: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
            return row
        except sqlite3.Error as error:
            _raise(self.file, error)


def _refuse_other_layout(file: Path, layout: int) -> None:
    if layout != _LAYOUT:
        raise ModelError(
            f"{file}: is a journal of another release (its layout is {layout}, this release knows "
            f"{_LAYOUT}); use that release, or name another journal"
        )


def _writer(file: Path) -> str:
    """Who seems to be writing a journal, in words."""
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
