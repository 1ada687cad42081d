"""How much of a file may be read, as it is said on the command line."""

import pytest

from qmodels.commands.byte_counts import byte_count
from qmodels.errors import ModelError
from tests.command import called

LINE = "1 {} 0 {} 1 -1 -1 1 -1 -1 1 1 1 -1 1 1 -1 -1\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("4GB", 4 * 10**9), ("4gb", 4 * 10**9), (" 512 MiB ", 512 * 2**20), ("2k", 2000),
     ("1.5GiB", 3 * 2**29), ("1TB", 10**12), ("700B", 700)],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(text, count):
    assert byte_count(text) == count


@pytest.mark.parametrize("text", ["", "0", "-4GB", "4 parsecs", "nan", "1e9", "9999TB", "4,5GB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ModelError, match="is no size"):
        byte_count(text)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "jobs.swf").write_text(
        "".join(LINE.format(i * i, 1 + i * i % 97) for i in range(100))
    )
    (tmp_path / "waits.csv").write_text("wait\n" + "1.5\n" * 100)
    (tmp_path / "trace.csv").write_text("rank,start,end,kind\n" + "0,0,1.5,read\n" * 100)
    program = 'name = "a"\nio = { total = 1.0 }\ncpu = { total = 9.0 }\n'
    (tmp_path / "study.toml").write_text(
        'title = "t"\nmachine = { processors = 4, disks = 2 }\nlog = { path = "jobs.swf" }\n'
        f"study = {{ loads = [0.3] }}\n[[program]]\n{program}"
        '[[policy]]\nkind = "SP"\nprocessor_partitions = 2\ndisk_partitions = 1\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "study.toml"),
        ("recommend", "study.toml"),
        ("simulate", "study.toml"),
        ("study", "study.toml"),
        ("allocate", "jobs.swf"),
        ("fit", "jobs.swf", "--column", "work"),
        ("fit", "waits.csv"),
        ("surface", "trace.csv"),
    ],
    ids=" ".join,
)
def test_every_command_that_reads_a_log_or_trace_takes_the_limit_and_names_it(
    files, words, monkeypatch
):
    monkeypatch.chdir(files)
    done = called(*words, "--max-bytes", "300")
    assert done.returncode == 3
    assert "max_bytes = 300" in done.stderr
    assert "--max-bytes" in done.stderr
    done = called(*words, "--max-bytes", "much")
    assert done.returncode == 2
    assert "'much' is no size" in done.stderr


def test_a_limit_that_is_wide_enough_changes_nothing(files):
    plain = called("predict", files / "study.toml")
    assert plain.returncode == 0
    assert called("predict", files / "study.toml", "--max-bytes", "1MB") == plain
