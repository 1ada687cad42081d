"""A command that is told to stop: soon, in order, with the right exit code."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
    import signal, sys, time
    # A test run in the background of a shell has its interrupts ignored, and so its children.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    import numpy as np
    import typer
    import qmodels.cli as cli

    class Plugin:
        def __init__(self, run):
            self.run = run
        def load(self):
            return lambda app: app.command("work")(self.run)

    def main(work):
        cli.entry_points = lambda group: [Plugin(work)]
        cli.app.registered_commands.clear()
        sys.argv = ["qmodels", "work"]
        cli.main()
"""

WORKS = {
    "sleeping": """
        def work():
            print("ready", flush=True)
            time.sleep(60)
        main(work)
    """,
    "in a thread pool": """
        from concurrent.futures import ThreadPoolExecutor
        def work():
            with ThreadPoolExecutor(2) as pool:
                waits = [pool.submit(time.sleep, 60) for _ in range(2)]
                print("ready", flush=True)
                waits[0].result()
        main(work)
    """,
    "in compiled code": """
        def work():
            many = np.ones(10_000)  # hours of products, in no memory
            print("ready", flush=True)
            np.einsum("a,b,c,d->", many, many, many, many)
        main(work)
    """,
}


def start(script, *words, **options):
    code = textwrap.dedent(PRELUDE) + textwrap.dedent(script)
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("work", list(WORKS))
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_the_command_with_a_word_and_its_exit_code(work, number, code):
    process = start(WORKS[work])
    assert process.stdout.readline() == "ready\n"
    process.send_signal(getattr(signal, number))
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert said.count("\n") == 1
    assert said.startswith("qmodels: ")
    assert "nothing was written" in said
    assert "again" in said


@pytest.mark.thorough
def test_a_signal_while_results_are_made_leaves_the_earlier_ones(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "one").write_text("1")
    script = """
        from pathlib import Path
        from qmodels.io.outputs import output_folder
        out = Path(sys.argv[1])
        def work():
            with output_folder(out) as made:
                (made / "one").write_text("half")
                print("ready", flush=True)
                time.sleep(60)
        main(work)
    """
    process = start(script, str(out))
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert f"{out}: as before this run" in said
    assert (out / "one").read_text() == "1"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


@pytest.mark.thorough
def test_signals_that_are_to_be_ignored_stay_ignored():
    script = """
        import signal
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        def work():
            print("ready", flush=True)
            sys.stdin.readline()
            print("done", flush=True)
        main(work)
    """
    process = start(script, stdin=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate("\n", timeout=60)
    assert (process.returncode, out) == (0, "done\n")


@pytest.mark.thorough
def test_a_reader_that_has_had_enough_is_no_error():
    script = """
        def work():
            while True:
                print("x" * 10_000)
        main(work)
    """
    process = start(script)
    process.stdout.readline()
    process.stdout.close()
    with process.stderr as stream:
        assert stream.read() == ""
    assert process.wait(timeout=60) == 0


@pytest.mark.thorough
def test_memory_that_is_not_there_is_one_line():
    script = """
        def work():
            np.zeros(1 << 50)
        main(work)
    """
    process = start(script)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert said.startswith("qmodels: out of memory")
    assert said.count("\n") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_standard_streams_that_are_closed_do_not_get_in_the_way(closed, tmp_path):
    script = """
        def work():
            with open(sys.argv_out, "w") as file:
                print("a warning", file=sys.stderr)
                file.write("fine")
        main(work)
    """.replace("sys.argv_out", repr(str(tmp_path / "file")))
    process = start(script, preexec_fn=lambda: [os.close(number) for number in closed])
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "file").read_text() == "fine"
