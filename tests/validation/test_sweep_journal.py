"""The journal of a campaign: what is finished is never lost, and nobody else writes into it."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from qmodels import locks
from qmodels.errors import ModelError
from qmodels.locks import remove_lock_files
from qmodels.process import Stopped
from tests.interrupts import interrupted_everywhere
from tests.qmodels.test_process import start
from tests.sweep_child import table
from validation.sweeps.engines import engine
from validation.sweeps.journal import Journal, Kept
from validation.sweeps.journal_file import JournalReader
from validation.sweeps.results import to_csv, to_frame
from validation.sweeps.run import run_tasks

ROOT = Path(__file__).resolve().parents[2]


def csv_of(points):
    return to_csv(to_frame(points.rows()))


def done(journal, points, workers=1, **options):
    """Carry a sweep out; its table."""
    with Journal(journal, version="1") as open_journal, engine(workers=workers) as chosen:
        run_tasks(points, open_journal, executor=chosen.executor, workers=chosen.workers, **options)
    return csv_of(points)


def child(journal, *options):
    return subprocess.run(
        [sys.executable, "-m", "tests.sweep_child", str(journal), *map(str, options)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=1200,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )


def test_what_is_in_the_journal_is_there_for_the_next_who_opens_it(tmp_path):
    with Journal(tmp_path / "j", version="1") as journal:
        journal.add([Kept("a", "1.5", 0.25), Kept("b", '{"x": 2}')])
    with Journal(tmp_path / "j", version="1") as journal:
        assert journal.known("a") == "1.5"
        assert journal.known("b") == '{"x": 2}'
        assert journal.known("c") is None
        assert journal.known_keys() == {"a": 0.25, "b": 0.0}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["j"]


def test_the_first_result_of_a_key_stays_and_a_second_is_counted(tmp_path):
    with Journal(tmp_path / "j", version="1") as journal:
        journal.add([Kept("a", "1")])
        journal.add([Kept("a", "2")])
    with JournalReader(tmp_path / "j") as reader:
        assert reader.results() == {"a": "1"}
        assert reader.repeated() == 1


@pytest.mark.thorough
def test_a_second_writer_is_told_who_writes_and_readers_are_let_in(tmp_path):
    with Journal(tmp_path / "j", version="1") as journal:
        journal.add([Kept("a", "1")])
        journal.commit()
        with pytest.raises(ModelError, match=f"process {os.getpid()} on .* is writing this"):
            Journal(tmp_path / "j", version="1")
        said = child(tmp_path / "j")
        assert (said.returncode, "is writing this journal" in said.stdout) == (3, True)
        with JournalReader(tmp_path / "j") as reader:
            assert reader.results() == {"a": "1"}
    Journal(tmp_path / "j", version="1").close()


def test_where_there_are_no_locks_a_living_writer_is_known_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr("validation.sweeps.journal.held_lock", lambda file: None)
    with (
        Journal(tmp_path / "j", version="1"),
        pytest.raises(ModelError, match="is writing this journal"),
    ):
        Journal(tmp_path / "j", version="1")
    Journal(tmp_path / "j", version="1").close()  # it has ended


def test_where_there_are_no_locks_a_writer_that_was_killed_is_no_hindrance(tmp_path, monkeypatch):
    monkeypatch.setattr("validation.sweeps.journal.held_lock", lambda file: None)
    journal = Journal(tmp_path / "j", version="1")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    journal._db.execute("UPDATE session SET pid = ?", (ended.pid,))
    journal._db.close()
    Journal(tmp_path / "j", version="1").close()


def test_another_version_of_the_code_is_told_and_accepted_when_asked_for(tmp_path):
    first = done(tmp_path / "j", table(3, 0.0))
    with pytest.raises(ModelError, match=r"6 results are of another version of the code \(1; this"):
        Journal(tmp_path / "j", version="2")
    with Journal(tmp_path / "j", version="2", reuse=True) as journal:
        assert journal.key_version == "1"
        points = table(3, 0.0, version=journal.key_version)
        assert run_tasks(points, journal)
        assert csv_of(points) == first
    with JournalReader(tmp_path / "j") as reader:
        assert reader.versions() == ["1"]


def test_a_version_without_results_is_no_hindrance(tmp_path):
    Journal(tmp_path / "j", version="1").close()
    with Journal(tmp_path / "j", version="2") as journal:
        assert journal.key_version == "2"


def test_a_journal_of_another_layout_is_told_to_who_writes_and_to_who_reads(tmp_path):
    Journal(tmp_path / "j", version="1").close()
    with sqlite3.connect(tmp_path / "j") as later:
        later.execute("PRAGMA user_version = 7")
    later.close()
    for opened in (
        lambda: Journal(tmp_path / "j", version="1"),
        lambda: JournalReader(tmp_path / "j"),
    ):
        with pytest.raises(ModelError, match=r"of another release .its layout is 7, .* knows 2"):
            opened()


def test_a_result_that_is_no_text_any_more_is_damage_in_few_words(tmp_path):
    with Journal(tmp_path / "j", version="1") as journal:
        journal.add([Kept("a", "x" * 3000)])
    (tmp_path / "j").write_bytes((tmp_path / "j").read_bytes().replace(b"xxxx", b"xx\xffx", 1))
    with (
        pytest.raises(ModelError, match="is damaged") as found,
        Journal(tmp_path / "j", version="1") as journal,
    ):
        journal.known("a")
    assert len(str(found.value)) < 150 + len(str(tmp_path))


@pytest.mark.parametrize("content", [b"no database at all, " * 100, b"\0" * 9000])
def test_a_file_that_is_no_journal_is_left_alone(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(ModelError, match="is no journal, or is damaged"):
        Journal(tmp_path / "j", version="1")
    assert (tmp_path / "j").read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["j"]


def test_the_database_of_another_program_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "j") as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = (tmp_path / "j").read_bytes()
    for opened in (
        lambda: Journal(tmp_path / "j", version="1"),
        lambda: JournalReader(tmp_path / "j"),
    ):
        with pytest.raises(ModelError, match=r"another program's|no journal of a campaign"):
            opened()
    assert (tmp_path / "j").read_bytes() == before


def test_a_folder_a_missing_folder_and_a_missing_journal_are_named(tmp_path):
    with pytest.raises(ModelError, match="is a folder"):
        Journal(tmp_path, version="1")
    with pytest.raises(ModelError, match="cannot be written to"):
        Journal(tmp_path / "no" / "j", version="1")
    with pytest.raises(ModelError, match="there is no journal"):
        JournalReader(tmp_path / "j")


def test_many_threads_may_write_at_once(tmp_path):
    with Journal(tmp_path / "j", version="1") as journal:

        def write(who):
            for k in range(50):
                journal.add([Kept(f"{who}-{k}", "1")])

        threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with JournalReader(tmp_path / "j") as reader:
        assert len(reader.results()) == 200


@pytest.mark.thorough
def test_a_full_disk_is_told_and_the_journal_still_opens(tmp_path):
    """The limit on the size of files is met in the middle of the campaign."""
    said = child(tmp_path / "j", "--count", 200, "--ms", 5, "--most-bytes", 70_000)
    assert said.returncode == 3
    assert "the disk is full" in said.stdout
    assert "the same command again" in said.stdout
    with JournalReader(tmp_path / "j") as reader:
        kept = reader.results()
    assert 20 < len(kept) < 400
    assert done(tmp_path / "j", table(200, 5.0)) == done(tmp_path / "other", table(200, 5.0))
    with JournalReader(tmp_path / "j") as reader:
        assert reader.repeated() == 0
        assert {key: reader.results()[key] for key in kept} == kept


@pytest.mark.parametrize("pages", range(1, 12, 2))
def test_a_disk_that_is_full_from_the_start_is_told_wherever_it_ends(tmp_path, pages):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096 * pages, limits[1]))
    try:
        with pytest.raises(ModelError, match=r"the disk is full .* give the same command again"):
            Journal(tmp_path / "j", version="1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done(tmp_path / "j", table(3, 0.0)) == done(tmp_path / "other", table(3, 0.0))


@pytest.mark.slow
def test_a_file_system_that_is_full_is_told_and_the_journal_goes_on_elsewhere(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(small)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("may not mount a small file system")
    try:
        said = child(small / "j", "--count", 800, "--ms", 5)
        assert (said.returncode, "the disk is full" in said.stdout) == (3, True)
        with JournalReader(small / "j") as reader:
            assert len(reader.results()) > 50
        shutil.copy(small / "j", tmp_path / "j")
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert done(tmp_path / "j", table(800, 5.0)) == done(tmp_path / "k", table(800, 5.0))


def test_seeded_bug_a_journal_that_forgets_is_noticed(tmp_path, monkeypatch):
    """The count of repeated work would notice keys that change from run to run."""
    points = table(3, 0.0)
    done(tmp_path / "j", points)
    with Journal(tmp_path / "j", version="1") as journal:
        monkeypatch.setattr(journal, "known_keys", dict)
        run_tasks(table(3, 0.0), journal)
    with JournalReader(tmp_path / "j") as reader:
        assert reader.repeated() == 6


@pytest.mark.thorough
def test_a_signal_at_any_line_leaves_a_journal_that_opens_and_no_lock(tmp_path):
    def work():
        with Journal(tmp_path / "j", version="1") as journal:
            journal.add([Kept("a", "1")])
            journal.commit()

    ends = 0
    for _ in interrupted_everywhere(work, "journal.py", "journal_file.py", "locks.py"):
        remove_lock_files()  # as the farewell of a command does
        assert {file.name for file in tmp_path.iterdir()} <= {"j", "j-journal"}
        for lock in list(locks._ours):
            lock.give_up()
        ends += 1
    assert ends > 80
    with Journal(tmp_path / "j", version="1") as journal:
        assert journal.known_keys() == {"a": 0.0}


def test_a_signal_during_the_last_commit_leaves_no_lock(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j", version="1")

    def end(ended):
        raise Stopped(15)

    monkeypatch.setattr(journal, "_end", end)
    with pytest.raises(Stopped):
        journal.close()
    assert [file.name for file in tmp_path.iterdir()] == ["j"]


@pytest.mark.thorough
def test_a_command_that_must_be_ended_from_outside_leaves_no_lock(tmp_path):
    """Compiled code holds the main thread, so that the journal is never closed."""
    script = """
        from pathlib import Path
        from validation.sweeps.journal import Journal, Kept
        def work():
            with Journal(Path(sys.argv_journal), version="1") as journal:
                journal.add([Kept("a", "1")])
                journal.commit()
                many = np.ones(10_000)  # hours of products, in no memory
                print("ready", flush=True)
                np.einsum("a,b,c,d->", many, many, many, many)
        main(work)
    """.replace("sys.argv_journal", repr(str(tmp_path / "j")))
    process = start(script)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert [file.name for file in tmp_path.iterdir()] == ["j"]
    with Journal(tmp_path / "j", version="1") as journal:
        assert journal.known("a") == "1"
