"""Folders of results: claimed before the work, and there whole or not at all."""

from __future__ import annotations

import atexit
import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from qmodels.errors import ModelError, reason_of
from qmodels.locks import FileLock, held_lock

#: In a folder made beside its target: all its files are complete and may be moved there.
_COMPLETE: Final = ".complete"
#: From linux/fcntl.h and linux/fs.h.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
#: Foreign files that are taken along when a whole folder is put in the place of another.
_TAKEN_ALONG: Final = 1000


class _Claim:
    """A folder of results that belongs to this process, from its claim to its release."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder  # without links
        self.lock: FileLock | None = None  # stays None where the file system has no locks
        self.made: list[Path] = []  # parents that did not exist before
        self.written = False  # whether results have appeared in it

    def sweep(self) -> None:
        """Remove what a killed process left beside the folder, or finish what it had begun."""
        for left in self.folder.parent.glob(_beside(self.folder, "*").name):
            if left.is_dir() and not left.is_symlink():
                if (left / _COMPLETE).exists():
                    _move_files(left, self.folder)
                shutil.rmtree(left, ignore_errors=True)

    def release(self) -> None:
        if self.lock is not None:
            self.sweep()
            self.lock.give_up()
            self.lock = None
        for parent in reversed(self.made):
            with suppress(OSError):
                parent.rmdir()  # goes only where nothing was written into it


_claims: dict[Path, _Claim] = {}


def claim_output(folder: Path) -> None:
    """Keep a folder for the results of this process, before the work that makes them.

    Raises
    ------
    ModelError
        If results cannot be written there, or another process is about to. The folder itself is
        not made.

    Notes
    -----
    The claim is a lock on a file beside the folder. It ends with the process, however that ends;
    what a killed process left beside the folder is removed by the next one.
    """
    target = _checked(folder)
    if target in _claims:
        return
    # Entered before anything is made, so that a signal at any moment leaves nothing.
    claim = _claims[target] = _Claim(target)
    try:
        for parent in reversed([p for p in target.parents if not p.exists()]):
            claim.made.append(parent)
            parent.mkdir()
        claim.lock = _locked(folder, target)
        trial = tempfile.mkdtemp(prefix=_beside(target, "").name, dir=target.parent)
        os.rmdir(trial)
    except (ModelError, OSError) as error:
        _claims.pop(target).release()
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"{folder}: cannot be written to ({reason_of(error)}); name another folder"
        ) from None
    if claim.lock is not None:
        claim.sweep()


def outputs_in_words() -> list[str]:
    """What became of each folder that this process has claimed, a clause each."""
    return [
        f"{claim.folder}: {'all results are there' if claim.written else 'as before this run'}"
        for claim in _claims.values()
    ]


def release_outputs() -> None:
    """Give up all claims, with what was being made; finished results stay."""
    for target, claim in list(_claims.items()):
        claim.release()
        _claims.pop(target, None)  # last: a signal in between leaves it to be released again


atexit.register(release_outputs)


@contextmanager
def output_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to write into; what was written appears in `folder` when the block ends well.

    Files of the same names are replaced, others left alone. An interrupted run leaves earlier
    results as they were.

    Raises
    ------
    ModelError
        If `folder` cannot be written to, or another process is writing there.

    Notes
    -----
    The results appear by one rename: of the new folder where there was none, and of the new in
    the place of the old where the file system can exchange two folders. Elsewhere (a folder that
    is somebody's working directory, has folders in it, or is a mount point) the files are renamed
    one by one; a process killed in between is made good by the next that writes there.
    """
    claim_output(folder)
    target = _checked(folder)
    made = Path(tempfile.mkdtemp(prefix=_beside(target, "").name, dir=target.parent))
    try:
        yield made
        _publish(made, target)
        _claims[target].written = True
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(f"{folder}: the disk is full; earlier results are as they were") from None
        raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _checked(folder: Path) -> Path:
    """The folder without links; ModelError unless there is one or could be one."""
    try:
        target = folder.resolve()
        kind = os.lstat(folder) if os.path.lexists(folder) else None
        os.stat(target.parent if target.parent.exists() else ".")
        folder.exists()
        if kind is not None and os.path.islink(folder) and not target.exists():
            raise ModelError(
                f"{folder}: is a link to {target}, which does not exist; make that folder or name another"
            )
        if os.path.lexists(target) and not target.is_dir():
            raise ModelError(f"{folder}: is a file; name a folder for the results")
        for parent in target.parents:
            if os.path.lexists(parent):
                if not parent.is_dir():
                    raise ModelError(f"{folder}: {parent} is a file; name another folder")
                place = target if target.exists() else parent
                if not os.access(place, os.W_OK | os.X_OK):
                    raise ModelError(f"{folder}: {place} is not writable; name another folder")
                break
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{folder}: {reason_of(error)}; name another folder") from None
    return target


def _beside(target: Path, ending: str) -> Path:
    """Name of something that belongs to a folder and lies beside it."""
    name = target.name
    if len(os.fsencode(name)) > 200:
        name = name[:40]
    return target.parent / f".{name}.qmodels-{ending}"


def _locked(folder: Path, target: Path) -> FileLock | None:
    """Lock the file beside the folder; ModelError if another process holds it."""
    try:
        return held_lock(_beside(target, "lock"))
    except BlockingIOError:
        raise ModelError(
            f"{folder}: another run is writing its results there; wait for it to end or name another folder"
        ) from None


def _publish(made: Path, target: Path) -> None:
    """Put finished files where they belong."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(made, 0o777 & ~mask)
    if not target.exists():
        os.rename(made, target)
        return
    blocked = [file.name for file in made.iterdir() if (target / file.name).is_dir()]
    if blocked:
        raise ModelError(f"{target / blocked[0]}: is a folder; move it away, a file goes there")
    if _takes_along(made, target) and _exchanged(made, target):
        return
    (made / _COMPLETE).touch()
    _move_files(made, target)


def _takes_along(made: Path, target: Path) -> bool:
    """Link the other files of the old folder into the new one; whether that could be done."""
    inside = Path.cwd().resolve()
    if target in (inside, *inside.parents):
        return False  # whoever works in the folder would be left in one that is gone
    others = [file for file in target.iterdir() if not (made / file.name).exists()]
    if len(others) > _TAKEN_ALONG:
        return False
    linked: list[Path] = []
    try:
        os.chmod(made, os.stat(target).st_mode & 0o7777)
        for file in others:
            if file.is_symlink() or not file.is_file():
                raise OSError
            os.link(file, made / file.name)
            linked.append(made / file.name)
    except OSError:
        for file in linked:
            file.unlink()
        return False
    return True


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places at once; whether this system can."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    ends = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    return bool(rename(*ends, _RENAME_EXCHANGE) == 0)


def _move_files(made: Path, target: Path) -> None:
    """Rename the files one by one, and the rest of them too if that is interrupted."""
    target.mkdir(exist_ok=True)
    files = sorted(file for file in made.iterdir() if file.name != _COMPLETE)
    try:
        for file in files:
            os.replace(file, target / file.name)
    except OSError:
        raise
    except BaseException:
        for file in files:
            if file.exists():
                os.replace(file, target / file.name)
        raise
