"""Python code run in fresh processes that need not import anything first, with what each took.

A process is started once and imports what all need; for each piece of code it makes a copy of
itself. So the seconds are those of the work, and a hundred commands are affordable.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_SERVER = """
import json, os, resource, sys
{imports}

def child(task):
    os.setsid()
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(task[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
    most = int(task["most"])
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
    sys.argv = ["qmodels", *task["words"]]
    try:
        exec(task["code"], {{"__name__": "__main__"}})
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        child(json.loads(line))
    _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss]), flush=True)
"""


@dataclass(frozen=True)
class Ended:
    """How a piece of code ended."""

    code: int  #: exit code, or less than 0 for a signal
    out: str
    err: str
    seconds: float  #: of processor time, those of its children that it waited for among them
    megabytes: float  #: at the peak


class Forked:
    """Runs code in copies of a process that has done some imports."""

    def __init__(self, imports: str, folder: Path) -> None:
        self.folder = folder
        self.server = subprocess.Popen(
            [sys.executable, "-c", _SERVER.format(imports=imports)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path])},
        )

    def run(self, code: str, *words: str, most: float = 60.0) -> Ended:
        """Run code, with these words as its command line, for so many processor seconds at most."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            task = {"code": code, "words": words, "most": most, "out": str(out), "err": str(err)}
            self.server.stdin.write(json.dumps(task) + "\n")
            self.server.stdin.flush()
            ended, seconds, kilobytes = json.loads(self.server.stdout.readline())
            texts = [file.read_text(encoding="utf-8", errors="replace") for file in (out, err)]
        return Ended(ended, *texts, seconds, kilobytes / 1024.0)

    def close(self) -> None:
        """End the process."""
        with self.server:
            self.server.stdin.close()
