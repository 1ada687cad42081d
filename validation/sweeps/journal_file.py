"""The file of a journal: its tables, how it is opened, its errors in words, and who reads it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from qmodels.errors import ModelError
from qmodels.words import cut

#: Number in the header of the file, and layout of the tables in it.
_APPLICATION, _LAYOUT = 0x716D6A6C, 2
#: A result belongs to the campaign that computed it, and to those that have asked for it since.
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS campaign (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, what TEXT NOT NULL, version TEXT NOT NULL,
    command TEXT NOT NULL, told TEXT, UNIQUE (kind, what)
);
CREATE TABLE IF NOT EXISTS point (
    campaign INTEGER NOT NULL, place INTEGER NOT NULL, settings TEXT NOT NULL,
    PRIMARY KEY (campaign, place)
);
CREATE TABLE IF NOT EXISTS result (
    key TEXT PRIMARY KEY, version TEXT NOT NULL, value TEXT NOT NULL, seconds REAL NOT NULL,
    campaign INTEGER NOT NULL, session INTEGER NOT NULL, times INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS shared (
    key TEXT NOT NULL, campaign INTEGER NOT NULL, PRIMARY KEY (key, campaign)
);
CREATE TABLE IF NOT EXISTS failure (
    campaign INTEGER NOT NULL, key TEXT NOT NULL, what TEXT NOT NULL, PRIMARY KEY (campaign, key)
);
CREATE TABLE IF NOT EXISTS session (
    number INTEGER PRIMARY KEY, began TEXT NOT NULL, beat REAL NOT NULL, ended TEXT,
    host TEXT NOT NULL, pid INTEGER NOT NULL, version TEXT NOT NULL, command TEXT NOT NULL,
    campaign INTEGER
);
"""


def lay_out(db: sqlite3.Connection) -> None:
    """Make the tables that are not there, within the transaction that is open.

    Parameters
    ----------
    db : sqlite3.Connection
        The journal.
    """
    for statement in _TABLES.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(f"PRAGMA user_version = {_LAYOUT}")


def raise_in_words(file: Path, error: sqlite3.Error) -> NoReturn:
    """Raise what SQLite says as a ModelError that tells what became of the results.

    Parameters
    ----------
    file : Path
        The journal.
    error : sqlite3.Error
        What SQLite says.

    Raises
    ------
    ModelError
        Always.
    """
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
        raise ModelError(
            f"{file}: the disk is full or cannot be written to ({error}); all that was finished "
            f"before is kept. Make room and give the same command again"
        ) from None
    unread = not name and isinstance(error, sqlite3.OperationalError)  # text that is no UTF-8 any more
    if unread or name == "SQLITE_NOTADB" or name.startswith("SQLITE_CORRUPT"):
        raise ModelError(f"{file}: is no journal, or is damaged ({cut(str(error), 80)})") from None
    if name.startswith("SQLITE_BUSY") or name.startswith("SQLITE_LOCKED"):
        raise ModelError(f"{file}: another program holds this journal ({error})") from None
    raise ModelError(f"{file}: {error}") from None


def connected(file: Path) -> sqlite3.Connection:
    """Open a journal for writing.

    Parameters
    ----------
    file : Path
        The journal; it is made if it is not there.

    Returns
    -------
    sqlite3.Connection
        Open, in autocommit mode.

    Raises
    ------
    ModelError
        If it is neither a journal nor empty.
    """
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
        raise_in_words(file, error)
    return db


@dataclass(frozen=True)
class KeptCampaign:
    """A campaign of which a journal holds results."""

    number: int  #: of the campaign in the file
    kind: str  #: what computes
    command: str  #: by which it is gone on with
    told: str | None  #: see `validation.sweeps.journal.Journal.describe`
    results: int  #: that are kept of it


class JournalReader:
    """A journal open for reading, also while a campaign goes on.

    Parameters
    ----------
    file : Path
        The journal.

    Raises
    ------
    ModelError
        If there is none or the file is something else.
    """

    def __init__(self, file: Path) -> None:
        if not file.is_file():
            raise ModelError(f"{file}: there is no journal; a finished campaign may have removed it")
        self.file = file
        try:
            # The writer's own unfinished commit is waited for, so this must be able to write.
            self._db = sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True, timeout=30.0)
            if self._db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                raise ModelError(f"{file}: is no journal of a campaign")
            _refuse_other_layout(file, self._db.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error as error:
            raise_in_words(file, error)

    def campaigns(self) -> list[KeptCampaign]:
        """Return all campaigns that it holds, the one that was worked on last first."""
        rows = self._all_rows(
            "SELECT number, kind, command, told, (SELECT count(*) FROM result WHERE "
            "result.campaign = campaign.number OR key IN (SELECT key FROM shared WHERE "
            "shared.campaign = campaign.number)) FROM campaign ORDER BY (SELECT max(number) "
            "FROM session WHERE session.campaign = campaign.number) DESC"
        )
        return [KeptCampaign(*row) for row in rows]

    def points(self, campaign: int) -> list[str]:
        """Return the settings of all points of a campaign, in their order.

        Parameters
        ----------
        campaign : int
            Its number.
        """
        query = "SELECT settings FROM point WHERE campaign = ? ORDER BY place"
        return [text for (text,) in self._all_rows(query, (campaign,))]

    def results(self) -> dict[str, str]:
        """Return every result by its key, of all campaigns."""
        return dict(self._all_rows("SELECT key, value FROM result"))

    def repeated(self) -> int:
        """Return the number of finished tasks that were computed again."""
        [(again,)] = self._all_rows("SELECT coalesce(sum(times - 1), 0) FROM result")
        return int(again)

    def sessions(self) -> list[tuple[Any, ...]]:
        """Return when, where and by which commands it was worked on."""
        return self._all_rows("SELECT began, ended, host, pid, version, command FROM session")

    def versions(self) -> list[str]:
        """Return the versions of the code that wrote results."""
        return [v for (v,) in self._all_rows("SELECT DISTINCT version FROM result ORDER BY version")]

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def __enter__(self) -> JournalReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all_rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise_in_words(self.file, error)


def _refuse_other_layout(file: Path, layout: int) -> None:
    if layout != _LAYOUT:
        raise ModelError(
            f"{file}: is a journal of another release (its layout is {layout}, this release knows "
            f"{_LAYOUT}); use that release, or name another journal"
        )
