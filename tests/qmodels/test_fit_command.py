from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import qmodels.cli
from phasefit import PhaseType
from phasefit.fitting import fit
from qmodels.commands import fit as fit_command
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io import read_swf, write_swf
from qmodels.io.samples import read_samples
from tests.command import result_of

NUMBERS = PhaseType.erlang(phases=2, mean=30.0).rvs(400, random_state=8).round(3)


class Plugin:
    """An entry point, whether or not the package was installed with it."""

    def load(self):
        return fit_command.register


@pytest.fixture
def run(monkeypatch, capsys):
    """Return what the command prints to both streams, and its exit code."""
    monkeypatch.setattr(qmodels.cli, "entry_points", lambda group: [Plugin()])

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["qmodels", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            qmodels.cli.main()
        return *capsys.readouterr(), stop.value.code or 0

    return command


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "waits.txt"
    path.write_text("# seconds\n" + "\n".join(map(str, NUMBERS.tolist())) + "\n")
    return path


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "jobs.swf"
    rng = np.random.default_rng(3)
    n = 300
    jobs = {
        "submit": np.cumsum(rng.exponential(60.0, n)).round() + 1,
        "run": rng.exponential(100.0, n).round() + 1,
        "processors": rng.choice([2, 4], n),
        "status": np.where(np.arange(n) % 3, 1, 0),
    }
    write_swf(path, pd.DataFrame(jobs), header={"MaxProcs": 8})
    return path


class TestReading:
    @pytest.mark.parametrize("pack", [False, True])
    def test_takes_a_number_per_line(self, text, tmp_path, pack):
        path = text
        if pack:
            path = tmp_path / "waits.gz"
            path.write_bytes(gzip.compress(text.read_bytes()))
        samples, name, remarks = read_samples(path)
        assert samples.tolist() == NUMBERS.tolist()
        assert (name, remarks) == ("value", ())

    @pytest.mark.parametrize(
        ("content", "column", "expected"),
        [
            ("wait\n1\n2.5e1\n", None, [1.0, 25.0]),
            ("job,wait\n1,.5\n2,4\n", "wait", [0.5, 4.0]),
            ('name,"wait [s], net"\n"a,b",1\n"c",2\n', "wait [s], net", [1.0, 2.0]),
            ("\ufeffwait , job\r\n 1 , 7\r\n2,8\r\n", "wait", [1.0, 2.0]),
            ("# made by hand\n\n3\n\n4\n", None, [3.0, 4.0]),
        ],
    )
    def test_takes_a_column_of_a_table(self, tmp_path, content, column, expected):
        path = tmp_path / "table.csv"
        path.write_text(content, encoding="utf-8")
        assert read_samples(path, column=column)[0].tolist() == expected

    @pytest.mark.parametrize(
        ("column", "series"),
        [
            ("interarrival", "interarrivals"),
            ("runtime", "runtimes"),
            ("work", "work"),
            ("size", "sizes"),
        ],
    )
    def test_takes_a_series_of_a_job_log_by_name_or_by_content(self, log, tmp_path, column, series):
        expected = getattr(read_swf(log), series).tolist()
        assert read_samples(log, column=column)[0].tolist() == expected
        bare = tmp_path / "bare"
        lines = log.read_text().splitlines(keepends=True)
        bare.write_text("".join(line for line in lines if not line.startswith(";")))
        assert read_samples(bare, column=column)[0].tolist() == expected

    def test_takes_the_jobs_that_ended_as_asked(self, log):
        done = read_samples(log, column="runtime", status="completed")[0]
        assert done.tolist() == read_swf(log, status="completed").runtimes.tolist()
        assert done.size == 200

    @pytest.mark.parametrize(
        ("content", "line", "field"),
        [
            ("1\n2\nx\n", 3, "value"),
            ("1\nnan\n", 2, "value"),
            ("nan\n1\n2\n", 1, "value"),
            ("1_000\n1\n2\n", 1, "value"),
            ("1\n1e999\n", 2, "value"),
            ("1\ninf\n", 2, "value"),
            ("1\n1_000\n", 2, "value"),
            ("1\n\u0661\n", 2, "value"),
            ("a,b\n1,2\n\n3\n", 4, None),
            ("a,b\n1,2,3\n", 2, None),
            ("1,2\n3,4\n", 1, None),
            ('a,b\n"1,2\n', 2, None),
            ("a\n1\n\n0x10\n", 4, "a"),
            ("1\n" + "9" * 5000 + "\n", 2, "value"),
        ],
    )
    def test_names_the_line_that_is_damaged(self, tmp_path, content, line, field):
        path = tmp_path / "bad.csv"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(TraceFormatError) as caught:
            read_samples(path, column="b" if "b" in content.split("\n")[0] else None)
        assert (caught.value.line, caught.value.field) == (line, field)

    @pytest.mark.parametrize("content", [b"", b"\n\n", b"# only talk\n", b"wait\n", b"\x1f\x8bjunk"])
    def test_refuses_a_file_without_numbers(self, tmp_path, content):
        path = tmp_path / "empty.txt"
        path.write_bytes(content)
        with pytest.raises(TraceFormatError):
            read_samples(path)

    def test_bounds_the_memory_a_file_may_take(self, text, monkeypatch):
        monkeypatch.setattr("qmodels.io.samples.MAX_BYTES", 100)
        with pytest.raises(TraceFormatError, match=r"more than max_bytes = 100 bytes.*--max-bytes"):
            read_samples(text)

    @pytest.mark.parametrize(
        ("content", "column", "says"),
        [
            ("wait,job\n1,2\n", "wiat", "did you mean wait"),
            ("wait,job\n1,2\n", None, "choose"),
            ("a,a\n1,2\n", "a", "2 columns"),
            ("1\n2\n", "wait", "no header"),
            ("1\n", 3, "text"),
        ],
    )
    def test_says_which_columns_there_are(self, tmp_path, content, column, says):
        path = tmp_path / "table.csv"
        path.write_text(content)
        with pytest.raises(ModelError, match=says):
            read_samples(path, column=column)

    @pytest.mark.parametrize("column", [None, "runtimes", "wait", ""])
    def test_says_which_series_a_job_log_has(self, log, column):
        with pytest.raises(ModelError, match="interarrival, runtime, work, size"):
            read_samples(log, column=column)

    def test_knows_no_status_outside_job_logs(self, text):
        with pytest.raises(ModelError, match="not a job log"):
            read_samples(text, status="completed")


class TestTheCommand:
    def test_prints_the_report_that_the_library_gives(self, run, text):
        out, err, code = run("fit", text, "--max-order", 3, "--seed", 4)
        assert code == 0
        assert out == fit(NUMBERS, max_order=3, rng=4).table() + "\n"
        assert err == ""

    def test_gives_one_json_object_with_the_law_in_it(self, run, log):
        out, _, code = run("fit", log, "--column", "runtime", "--order", 2, "--json")
        assert code == 0
        record = result_of(out)
        times = read_swf(log).runtimes
        assert record["n"] == times.size
        law = PhaseType(record["alpha"], record["T"])
        assert law.mean == pytest.approx(record["mean"], rel=1e-12)
        assert record["order"] == 2
        total = np.sum(law.logpdf(times))
        assert record["log_likelihood"] == pytest.approx(total, rel=1e-9)
        assert record["bic"] == pytest.approx(record["parameters"] * np.log(times.size) - 2 * total, rel=1e-9)

    @pytest.mark.thorough
    def test_holds_the_moments_it_is_told_to(self, run, log):
        out, _, code = run("fit", log, "--column", "work", "--hold-moments", 2, "--order", 3, "--json")
        assert code == 0
        assert np.abs(result_of(out)["moment_errors"][:2]).max() < 1e-9

    def test_prints_the_same_bytes_for_the_same_seed(self, run, text):
        command = ("fit", text, "--order", 2, "--bootstrap", 3, "--seed", 5, "--json")
        assert run(*command) == run(*command)

    @pytest.mark.thorough
    def test_leaves_a_figure_and_tables(self, run, text, tmp_path):
        folder = tmp_path / "deep" / "out"
        _, err, code = run("fit", text, "--max-order", 2, "-o", folder)
        assert code == 0
        names = {"fit.png", "fit.csv", "candidates.csv"}
        assert {file.name for file in folder.iterdir()} == names
        assert str(folder / "fit.png") in err
        tried = pd.read_csv(folder / "candidates.csv")
        assert tried["bic"].is_monotonic_increasing
        assert tried["order"].max() == 2
        assert pd.read_csv(folder / "fit.csv")["quantity"][0] == "mean"

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize(
        "options",
        [
            ("--family", "erlang"),
            ("--criterion", "best"),
            ("--column", "wait"),
            ("--family", "moments", "--order", "3"),
            ("--status", "completed"),
        ],
    )
    def test_says_in_one_line_what_was_wrong(self, run, text, options):
        out, err, code = run("fit", text, *options)
        assert (out, code) == ("", 3)
        assert err.startswith("qmodels: ")
        assert err.count("\n") == 1

    @pytest.mark.thorough
    def test_refuses_a_missing_or_damaged_file(self, run, tmp_path):
        assert run("fit", tmp_path / "no.txt")[2] == 3
        damaged = tmp_path / "damaged.txt"
        damaged.write_text("1\n-2\n3\n")
        out, err, code = run("fit", damaged)
        assert (out, code) == ("", 3)
        assert "-2" in err

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("options", [("--order", "0"), ("--hold-moments", "3"), ("--no", "1")])
    def test_calls_a_wrong_option_wrong_usage(self, run, text, options):
        assert run("fit", text, *options)[2] == 2

    def test_refuses_a_folder_that_cannot_be_written_before_the_work(self, run, text, tmp_path):
        (tmp_path / "file").write_text("")
        out, _, code = run("fit", text, "-o", tmp_path / "file")
        assert (out, code) == ("", 3)

    def test_costs_the_other_commands_nothing(self):
        script = "import sys, qmodels.commands.fit; sys.exit('numpy' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_what_only_laws_take_is_refused_for_an_arrival_process(run, log):
    options = ("--family", "coxian", "--bootstrap", "20")
    _, err, code = run("fit", log, "--column", "interarrival", "--process", *options)
    assert code == 3
    assert "without --family, --bootstrap" in err


@pytest.mark.thorough
def test_an_arrival_process_is_printed_with_what_it_met(run, log, text):
    out, _, code = run("fit", log, "--column", "interarrival", "--process")
    assert code == 0
    assert "dispersion in" in out
    assert "D0 = [[" in out
    out, _, code = run("fit", log, "--column", "interarrival", "--process", "--json")
    record = result_of(out)
    assert code == 0
    assert {"D0", "D1", "targets", "n"} <= set(record)
    assert np.allclose(np.sum(record["D0"], axis=1) + np.sum(record["D1"], axis=1), 0.0)
    _, err, code = run("fit", log, "--column", "interarrival", "--process", "-o", "folder")
    assert code == 3
    assert "--process" in err
