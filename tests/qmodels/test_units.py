"""Times, sizes and rates as people write them, and how much of a file may be read."""

import re

import pytest

from qmodels.errors import ModelError
from qmodels.units import byte_count, bytes_per_second, seconds
from tests.command import called

LINE = "1 {} 0 {} 1 -1 -1 1 -1 -1 1 1 1 -1 1 1 -1 -1\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1B", 1),
        ("4GB", 4 * 10**9),
        ("4gb", 4 * 10**9),
        (" 512 MiB ", 512 * 2**20),
        ("2k", 2000),
        ("1.5GiB", 3 * 2**29),
        ("1TB", 10**12),
        ("700B", 700),
    ],
)
def test_sizes_are_read_as_people_write_them(text, count):
    assert byte_count(text) == count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("800", "800 what? say 800GB or 800GiB"),
        (" 1.5 ", "1.5 what? say 1.5GB or 1.5GiB"),
        ("800.0", "800 what? say 800GB or 800GiB"),
        ("2000000", "2000000 what? say 2000000B or 2000000kB"),
    ],
)
def test_a_number_alone_is_no_size_and_units_that_would_do_are_named(text, said):
    with pytest.raises(ModelError, match=re.escape(said)):
        byte_count(text)


@pytest.mark.parametrize("text", ["", "0", "-4GB", "4 parsecs", "nan", "1e9", "9999TB", "4,5GB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ModelError, match="is no size"):
        byte_count(text)


def test_times_and_rates_are_read_as_written():
    assert [seconds(x) for x in ("24.7h", "10 min", "2days", "0")] == [88920.0, 600.0, 172800.0, 0]
    # of several units, as a budget is given: they fall, and each is named
    assert [seconds(x) for x in ("1h30min", "1h 30 min", "2d12h0.5s")] == [5400.0, 5400.0, 216000.5]
    for slip in ("30min1h", "1h30", "1h1h", "1h30m5min", "h", "", "1hour", "1 2h", "1,5h"):
        with pytest.raises(ModelError, match="is no time"):
            seconds(slip)
    assert bytes_per_second("20GB/s") == bytes_per_second("20000000000B/s") == 2e10


@pytest.fixture
def files(tmp_path):
    (tmp_path / "jobs.swf").write_text("".join(LINE.format(i * i, 1 + i * i % 97) for i in range(100)))
    (tmp_path / "waits.csv").write_text("wait\n" + "1.5\n" * 100)
    (tmp_path / "trace.csv").write_text("rank,start,end,kind\n" + "0,0,1.5,read\n" * 100)
    program = 'name = "a"\nio = { total = 1.0 }\ncpu = { total = 9.0 }\n'
    (tmp_path / "study.toml").write_text(
        'title = "t"\nmachine = { processors = 4, disks = 2 }\nlog = { path = "jobs.swf" }\n'
        f"study = {{ loads = [0.3] }}\n[[program]]\n{program}"
        '[[policy]]\nkind = "SP"\nprocessor_partitions = 2\ndisk_partitions = 1\n'
    )
    return tmp_path


@pytest.mark.thorough(first=1)
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
def test_every_command_that_reads_a_log_or_trace_takes_the_limit_and_names_it(files, words, monkeypatch):
    monkeypatch.chdir(files)
    done = called(*words, "--max-bytes", "300B")
    assert done.returncode == 3
    assert "max_bytes = 300" in done.stderr
    assert "--max-bytes" in done.stderr
    for given, said in (("much", "'much' is no size"), ("300", "300 what? say 300GB")):
        done = called(*words, "--max-bytes", given)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())


def test_a_limit_that_is_wide_enough_changes_nothing(files):
    plain = called("predict", files / "study.toml")
    assert plain.returncode == 0
    assert called("predict", files / "study.toml", "--max-bytes", "1MB") == plain
