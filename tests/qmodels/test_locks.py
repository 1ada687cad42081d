"""Locks on files: one holder, and no file left where nobody holds one."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from qmodels import locks
from qmodels.io import outputs
from qmodels.locks import held_lock, remove_lock_files
from tests.interrupts import interrupted_everywhere


@pytest.fixture(autouse=True)
def ended():
    """As at the end of a process: descriptors are closed, and the set of its locks is gone."""
    yield
    for lock in list(locks._ours):
        lock.give_up()


def test_a_lock_is_held_by_one_until_it_is_given_up(tmp_path):
    lock = held_lock(tmp_path / "lock")
    with pytest.raises(BlockingIOError):
        held_lock(tmp_path / "lock")
    lock.give_up()
    assert list(tmp_path.iterdir()) == []
    again = held_lock(tmp_path / "lock")
    lock.give_up()  # of old: does nothing
    with pytest.raises(BlockingIOError):
        held_lock(tmp_path / "lock")
    again.give_up()


def test_a_lock_of_another_process_is_left_alone(tmp_path):
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from pathlib import Path; from qmodels.locks import held_lock;"
            "held_lock(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)",
            str(tmp_path / "lock"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError):
            held_lock(tmp_path / "lock")
        remove_lock_files()
        assert (tmp_path / "lock").exists()
        holder.send_signal(signal.SIGKILL)
    held_lock(tmp_path / "lock").give_up()


def test_where_there_are_no_locks_no_file_pretends_to_be_one(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert held_lock(tmp_path / "lock") is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_owner_takes_it_away_meanwhile_is_made_anew(tmp_path, monkeypatch):
    flock, times = fcntl.flock, []

    def late(descriptor, how):
        times.append(descriptor)
        if len(times) == 1:
            os.unlink(tmp_path / "lock")
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    lock = held_lock(tmp_path / "lock")
    assert len(times) == 2
    assert os.path.samestat(os.fstat(lock.descriptor), os.stat(tmp_path / "lock"))


def test_a_signal_between_any_two_instructions_leaves_no_lock_file(tmp_path):
    def work():
        held_lock(tmp_path / "lock").give_up()

    ends = 0
    for _ in interrupted_everywhere(work, "locks.py", instructions=True):
        remove_lock_files()  # as the farewell does
        assert list(tmp_path.iterdir()) == []
        ends += 1
        for lock in list(locks._ours):
            lock.give_up()
    assert ends > 100


@pytest.mark.thorough
def test_a_signal_at_any_line_of_a_claim_leaves_nothing_beside_the_folder(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "one").write_text("1")

    def work():
        with outputs.output_folder(tmp_path / "out") as made:
            (made / "one").write_text("2")
        outputs.release_outputs()

    ends = 0
    for _ in interrupted_everywhere(work, "locks.py", "outputs.py"):
        outputs.release_outputs()
        remove_lock_files()
        assert [file.name for file in tmp_path.iterdir()] == ["out"]
        assert (tmp_path / "out" / "one").read_text() in ("1", "2")
        ends += 1
        for lock in list(locks._ours):
            lock.give_up()
    assert ends > 80
