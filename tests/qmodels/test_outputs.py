"""Folders of results: one owner, there whole or not at all."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from qmodels.errors import ModelError
from qmodels.io import outputs
from qmodels.io.outputs import claim_output, output_folder, release_outputs


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def write(folder, **texts):
    with output_folder(folder) as made:
        for name, text in texts.items():
            (made / name).write_text(text)


def child(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_results_appear_together_and_nothing_lies_beside_them(tmp_path):
    out = tmp_path / "a" / "b" / "out"
    write(out, one="1", two="2")
    release_outputs()
    assert names(out) == ["one", "two"]
    assert names(out.parent) == ["out"]
    umask = os.umask(0)
    os.umask(umask)
    assert out.stat().st_mode & 0o777 == 0o777 & ~umask


def test_files_of_the_same_name_are_replaced_and_others_left_alone(tmp_path):
    out = tmp_path / "out"
    write(out, one="1", two="2")
    (out / "mine").write_text("mine")
    (out / "own").mkdir()
    (out / "own" / "deep").write_text("deep")
    write(out, one="new")
    assert names(out) == ["mine", "one", "own", "two"]
    assert [(out / name).read_text() for name in ("one", "two", "mine")] == ["new", "2", "mine"]
    assert (out / "own" / "deep").read_text() == "deep"


def test_a_folder_in_which_somebody_works_stays_the_same_folder(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out, one="1")
    monkeypatch.chdir(out)
    before = out.stat().st_ino
    write(Path("."), one="2")
    assert out.stat().st_ino == before
    assert Path("one").read_text() == "2"


def test_an_exchange_replaces_all_files_at_once(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out, one="1", two="1")
    monkeypatch.setattr(outputs, "_move_files", None)  # would fail if files were moved singly
    write(out, one="2", two="2")
    assert [(out / name).read_text() for name in ("one", "two")] == ["2", "2"]


def test_a_failure_leaves_earlier_results_and_no_folder_of_its_own(tmp_path):
    out = tmp_path / "out"
    write(out, one="1")

    def fail():
        with output_folder(out) as made:
            (made / "one").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    release_outputs()
    assert (out / "one").read_text() == "1"
    assert names(tmp_path) == ["out"]


def test_a_claim_that_comes_to_nothing_leaves_no_folder(tmp_path):
    claim_output(tmp_path / "a" / "b" / "out")
    release_outputs()
    assert names(tmp_path) == []


HOLD = """
    import sys
    from pathlib import Path
    from qmodels.io.outputs import claim_output, output_folder
    out = Path(sys.argv[1])
    claim_output(out)
    if sys.argv[2] == "half":
        with output_folder(out) as made:
            (made / "one").write_text("half")
            print("ready", flush=True)
            sys.stdin.read()
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_second_writer_is_told_at_once_and_may_write_when_the_first_has_ended(tmp_path):
    out = tmp_path / "out"
    other = child(HOLD, out, "claim")
    assert other.stdout.readline() == "ready\n"
    with pytest.raises(ModelError, match="another run"):
        claim_output(out)
    claim_output(tmp_path / "elsewhere")
    other.communicate("")
    write(out, one="mine")
    assert names(out) == ["one"]


def test_what_a_killed_process_left_is_swept_by_the_next(tmp_path):
    out = tmp_path / "out"
    write(out, one="1")
    release_outputs()
    other = child(HOLD, out, "half")
    assert other.stdout.readline() == "ready\n"
    other.send_signal(signal.SIGKILL)
    other.communicate()
    assert (out / "one").read_text() == "1"
    assert len(names(tmp_path)) > 1
    claim_output(out)
    release_outputs()
    assert names(tmp_path) == ["out"]
    assert (out / "one").read_text() == "1"


def test_moves_that_a_kill_cut_short_are_finished_by_the_next(tmp_path):
    out = tmp_path / "out"
    write(out, one="1", two="1")
    release_outputs()
    left = tmp_path / ".out.qmodels-abc"
    left.mkdir()
    (left / ".complete").touch()
    (left / "two").write_text("2")  # "one" had been moved already
    (out / "one").write_text("2")
    claim_output(out)
    assert [(out / name).read_text() for name in ("one", "two")] == ["2", "2"]
    assert not left.exists()


def test_an_interrupt_among_single_moves_still_moves_the_rest(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out, one="1", two="1", three="1")
    (out / "own").mkdir()  # so that files go one by one
    replace, calls = os.replace, []

    def interrupted(source, target):
        calls.append(target)
        replace(source, target)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(out, one="2", two="2", three="2")
    assert {(out / name).read_text() for name in ("one", "two", "three")} == {"2"}


def loop(folder):
    (folder / "x").symlink_to(folder / "y")
    (folder / "y").symlink_to(folder / "x")
    return folder / "x"


def dangling(folder):
    (folder / "x").symlink_to(folder / "nowhere")
    return folder / "x"


def file(folder):
    (folder / "x").write_text("")
    return folder / "x"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (loop, "name another folder"),
        (dangling, "does not exist"),
        (file, "is a file"),
        (lambda folder: file(folder) / "below", "is a file"),
        (lambda folder: folder / ("a" * 300), "name another folder"),
        (lambda folder: folder / "a\0b", "name another folder"),
    ],
)
def test_a_path_that_cannot_be_a_folder_is_refused_before_the_work(make, says, tmp_path):
    path = make(tmp_path)
    with pytest.raises(ModelError, match=says):
        claim_output(path)


def test_a_link_to_a_folder_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", one="1")
    write(tmp_path / "link", one="2")
    assert (tmp_path / "real" / "one").read_text() == "2"
    assert (tmp_path / "link").is_symlink()


def test_a_folder_that_stands_where_a_file_goes_is_named(tmp_path):
    out = tmp_path / "out"
    (out / "one").mkdir(parents=True)
    with pytest.raises(ModelError, match="one: is a folder"):
        write(out, one="1")
