"""The process that starts a lab's daemons and ends every one of them when whoever runs the lab is gone.

Run as a program with nothing but the standard library. It holds the reading end of a pipe: a runner
that ends in any way, `kill -9` included, closes the other end. All daemons are its children or become
so (it is a subreaper), and clients are known by the configuration that they were started with.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SUBREAPER, _DIE_WITH_PARENT = 36, 1  # of prctl
#: Ports below those that the kernel hands out to clients. A lab takes one block of them.
_FIRST_PORT, _LAST_PORT, _BLOCK = 12_000, 31_000, 40
_PATIENCE = 90.0  #: seconds for a daemon to answer
_MUNGE, _DATA_BASE = "munge.socket", "mysql.socket"


class LabError(Exception):
    """A lab that did not start, with the reason."""


def main() -> int:
    """Start a lab, say so in one line of JSON, and end it when the standard input does.

    Returns
    -------
    int
        Always 0: what went wrong is in the line.
    """
    plan = json.loads(sys.stdin.readline())
    prctl = ctypes.CDLL(None).prctl
    prctl(_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # of the runner's terminal; the pipe tells of its end
    with contextlib.suppress(OSError):
        os.nice(int(plan["nice"]))
    folder = Path(plan["folder"])
    try:
        lab = _Lab(folder, plan, lambda: prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0))
        lab.start()
        _tell({"ports": lab.ports, "seconds": lab.seconds})
        while not _runner_is_gone(1.0):
            reap()
    except LabError as error:
        _tell({"error": str(error)})
    finally:
        end_all(folder)
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _tell(answer: dict[str, Any]) -> None:
    """Write a line to the runner, who may be gone."""
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(answer).encode() + b"\n")


class _Lab:
    """Daemons of one lab, started one after the other."""

    def __init__(self, folder: Path, plan: dict[str, Any], die_with_keeper: Callable[[], None]) -> None:
        self.folder, self.plan, self.die = folder, plan, die_with_keeper
        own = {"SLURM_CONF": str(folder / "slurm.conf"), "TMPDIR": str(folder / "tmp")}
        self.environment = {**os.environ, **own}
        self.began = time.monotonic()
        self.seconds: dict[str, float] = {}
        self.block, self.ports = _block_of_ports(plan["nodes"] + 4)

    def start(self) -> None:
        """Write the configuration and start munged, mariadbd, slurmdbd, slurmctld and the nodes."""
        for name in ("state", "spool", "log", "pids", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for name, text in self.plan["files"].items():
            path = self.folder / name
            path.write_text(text.format(folder=self.folder, **self._named_ports()))
            path.chmod(0o600)
        self._munge()
        self._data_base()
        control, accounting = self.ports[0], self.ports[1]
        self._daemon("slurmdbd", "-D", until=lambda: _answers(accounting))
        for words in self.plan["accounts"]:
            self._call("sacctmgr", "-i", *words)
        self._daemon("slurmctld", "-D", until=lambda: _answers(control))
        for node in range(self.plan["nodes"]):
            (self.folder / f"spool/n{node}").mkdir(exist_ok=True)
            self._spawn(f"slurmd.n{node}", "slurmd", "-D", "-N", f"n{node}")
        self._wait("the nodes", self._all_idle)

    def _named_ports(self) -> dict[str, Any]:
        first = self.ports[3]
        return {
            "control_port": self.ports[0],
            "accounting_port": self.ports[1],
            "data_base_port": self.ports[2],
            "node_ports": f"[{first}-{first + self.plan['nodes'] - 1}]",
        }

    def _munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self._daemon(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={self.folder / _MUNGE}",
            f"--pid-file={self.folder}/pids/munged.pid",
            f"--log-file={self.folder}/log/munged.log",
            f"--seed-file={self.folder}/munge.seed",
            "--num-threads=4",
            until=(self.folder / _MUNGE).exists,
        )

    def _data_base(self) -> None:
        data, place = self.folder / "mysql", self.folder / _DATA_BASE
        user = [f"--user={self.plan['user']}"] if os.getuid() == 0 else []
        self._call(
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            *user,
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            f"--tmpdir={self.folder}/tmp",
        )
        client = ["mariadb", "--no-defaults", "-u", "root", f"--socket={place}", "-e"]
        self._daemon(
            "mariadbd",
            "--no-defaults",
            f"--datadir={data}",
            *user,
            f"--socket={place}",
            f"--port={self.ports[2]}",
            "--bind-address=127.0.0.1",
            f"--pid-file={self.folder}/pids/mariadbd.pid",
            f"--tmpdir={self.folder}/tmp",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M",
            "--innodb-lock-wait-timeout=900",
            until=lambda: self._runs(*client, "select 1"),
        )
        hosts = [f"'slurm'@'{host}'" for host in ("127.0.0.1", "localhost")]
        words = ["create database slurm_acct_db"]
        words += [f"create user {each} identified by 'lab'" for each in hosts]
        words += [f"grant all on slurm_acct_db.* to {each}" for each in hosts]
        self._call(*client, ";".join(words))

    def _daemon(self, *words: str, until: Callable[[], bool]) -> None:
        self._spawn(words[0], *words)
        self._wait(words[0], until)

    def _spawn(self, name: str, *words: str) -> None:
        with (self.folder / f"log/{name}.out").open("wb") as out:
            subprocess.Popen(
                words,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=self.die,
            )

    def _call(self, *words: str) -> None:
        done = self._ended(*words)
        if done.returncode:
            raise LabError(f"{words[0]} failed: {(done.stderr or done.stdout).strip()[-300:]}")

    def _runs(self, *words: str) -> bool:
        return self._ended(*words).returncode == 0

    def _ended(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of the lab, once it has ended; it ends with this process as well."""
        return subprocess.run(
            words,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            preexec_fn=self.die,
        )

    def _all_idle(self) -> bool:
        done = self._ended("sinfo", "-h", "-N", "-o", "%N %t")
        states = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if line.strip()}
        return len(states) == self.plan["nodes"] and set(states.values()) == {"idle"}

    def _wait(self, name: str, until: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not until():
            if _runner_is_gone():
                raise LabError("the runner is gone")
            if time.monotonic() > end:
                log = self.folder / f"log/{name}.out"
                last = log.read_text(errors="replace")[-400:].strip() if log.exists() else ""
                raise LabError(f"{name} did not come up in {_PATIENCE:g} s {last}".rstrip())
            time.sleep(0.05)
        self.seconds[name] = round(time.monotonic() - self.began, 2)


def _block_of_ports(count: int) -> tuple[socket.socket, list[int]]:
    """Ports that are free, in a block that no other lab takes while the socket returned is open."""
    places = list(range(_FIRST_PORT, _LAST_PORT - _BLOCK, _BLOCK))
    begin = os.getpid() % len(places)
    for first in places[begin:] + places[:begin]:
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0qmodels-slurm-lab-{first}")
            if count > _BLOCK:
                raise LabError(f"a lab has at most {_BLOCK - 4} nodes")
            for port in range(first, first + count):
                with socket.socket() as trial:
                    trial.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        return lock, list(range(first, first + count))
    raise LabError(f"no {count} free ports in a row between {_FIRST_PORT} and {_LAST_PORT}")


def _answers(port: int) -> bool:
    with socket.socket() as trial:
        trial.settimeout(0.5)
        return trial.connect_ex(("127.0.0.1", port)) == 0


def _runner_is_gone(seconds: float = 0.0) -> bool:
    """Return True if the pipe closes within so many seconds: nothing is written to it after the plan."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def reap() -> None:
    """Take note of children that have ended; whoever loses its parent in a lab becomes one."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def members(folder: Path, keeper: int) -> list[int]:
    """Return the processes of a lab: those of its configuration, and all that descend from its keeper.

    Parameters
    ----------
    folder : Path
        Of the lab.
    keeper : int
        Number of the process that keeps it.
    """
    mark = f"SLURM_CONF={folder}/slurm.conf".encode()
    parent: dict[int, int] = {}
    found = set()
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        number = int(place.name)
        try:
            fields = (place / "stat").read_text().rsplit(")", 1)[1].split()
            if fields[0] == "Z":
                continue
            parent[number] = int(fields[1])
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found.add(number)
        except (OSError, IndexError):
            continue
    roots = found | {keeper}
    for number in parent:
        above, seen = number, set()
        while above in parent and above not in roots and above not in seen:
            seen.add(above)
            above = parent[above]
        if above in roots and number != above:
            found.add(number)
    return sorted(found - {keeper})


def end_all(folder: Path) -> None:
    """End all processes of a lab, and those that they start meanwhile, until none is left.

    Parameters
    ----------
    folder : Path
        Of the lab.
    """
    quiet = 0
    while quiet < 2:
        alive = members(folder, os.getpid())
        for number in alive:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
        quiet = 0 if alive else quiet + 1
        reap()
        time.sleep(0.02)


if __name__ == "__main__":
    raise SystemExit(main())
