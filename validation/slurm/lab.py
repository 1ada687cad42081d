"""A lab: one Slurm of virtual nodes on this machine, on loopback alone, gone when its runner is."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from qmodels.errors import ModelError
from validation.slurm.keeper import members

#: Programs that a lab runs; Debian's names of their packages stand in `_PACKAGES`.
PROGRAMS: Final = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "sacct",
    "sacctmgr",
    "salloc",
    "sbatch",
    "munged",
    "mariadbd",
    "mariadb",
    "mariadb-install-db",
)
_PACKAGES = "slurm-wlm slurmdbd munge mariadb-server-core mariadb-client-core"
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
#: Columns that are asked of sacct, as a user would for `qmodels jobs`.
SACCT = "JobID,JobName,User,Partition,QOS,Submit,Start,End,State,AllocCPUS,NNodes,ElapsedRaw,Timelimit"
#: Added to the scheduling priority of a lab where the user may: its latencies are those of a Slurm,
#: not of what else the machine does.
NICE = -5

_CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={{control_port}}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={{folder}}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={{folder}}/state
SlurmdSpoolDir={{folder}}/spool/%n
SlurmctldPidFile={{folder}}/pids/slurmctld.pid
SlurmdPidFile={{folder}}/pids/slurmd.%n.pid
SlurmctldLogFile={{folder}}/log/slurmctld.log
SlurmdLogFile={{folder}}/log/slurmd.%n.log
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={{accounting_port}}
AccountingStoragePass={{folder}}/munge.socket
ReturnToService=2
MaxJobCount=20000
KillWait=5
MessageTimeout=30
SlurmdTimeout=0
InactiveLimit=0
SlurmdParameters=config_overrides
# Without an epilog a node that is free again is seen at the next whole second only.
Epilog=/bin/true
NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port={{node_ports}} CPUs=1 State=UNKNOWN
"""
_ACCOUNTING = """\
AuthType=auth/munge
AuthInfo=socket={{folder}}/munge.socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={{accounting_port}}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser={user}
LogFile={{folder}}/log/slurmdbd.log
PidFile={{folder}}/pids/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={{data_base_port}}
StorageUser=slurm
StoragePass=lab
StorageLoc=slurm_acct_db
"""


def missing() -> str:
    """Return why no lab can run on this machine; an empty text where one can.

    Examples
    --------
    >>> "Slurm" in (missing() or "Slurm is here")
    True
    """
    if not sys.platform.startswith("linux"):
        return "a Slurm lab needs Linux"
    absent = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    if absent:
        return f"Slurm is not installed: there is no {', '.join(absent)} (Debian: {_PACKAGES})"
    try:
        address = socket.gethostbyname(socket.gethostname())
    except OSError:
        address = "nowhere"
    if not address.startswith("127."):
        return (
            f"the name of this machine leads to {address}, and Slurm listens there; a lab keeps to "
            f"loopback: add `127.0.1.1 {socket.gethostname()}` to /etc/hosts"
        )
    return ""


class Lab:
    """A Slurm that runs as long as the block that it is entered for.

    Parameters
    ----------
    nodes : int
        Virtual nodes n0, n1, ... of one processor each.
    lines : sequence of str
        Lines of slurm.conf that set the policy, its partitions among them.
    qos : mapping
        Names of qualities of service and their priorities.
    folder : path_like, optional
        Place for all its files, which must not exist; by default a new temporary folder. It is
        removed when the lab ends.
    nice : int
        Added to the scheduling priority of all its processes where the user may, so that latencies
        are those of a Slurm and not of what else the machine does.

    Raises
    ------
    ModelError
        If Slurm is not installed, or a daemon does not come up.

    Notes
    -----
    A process of its own, the keeper, starts all daemons and holds a pipe to the runner. When the
    pipe closes, because the block ends or the runner was killed, it kills all processes of the
    lab and removes the folder. Ports are taken on 127.0.0.1, in a block that no other lab takes.
    """

    def __init__(
        self,
        nodes: int,
        lines: Sequence[str],
        qos: Mapping[str, int] | None = None,
        folder: Path | None = None,
        *,
        nice: int = NICE,
    ) -> None:
        self.nodes, self.lines, self.qos = nodes, lines, dict(qos or {})
        self.folder, self.nice = folder, nice
        self.keeper: subprocess.Popen[str] | None = None
        self.client_seconds = 0.0  # of processors, of clients that have ended
        self.seconds: dict[str, float] = {}
        self.ports: list[int] = []

    def __enter__(self) -> Self:
        if why := missing():
            raise ModelError(why)
        # Not made here: a folder that its keeper does not know of would be left behind.
        parent = Path(tempfile.gettempdir())
        place = self.folder or parent / f"qmodels-slurm-{os.getpid()}-{time.monotonic_ns() % 10**9}"
        self.place = Path(place).absolute()
        if self.place.exists():
            raise ModelError(f"{self.place} exists; a lab makes its folder and removes it")
        own = {"host": socket.gethostname().split(".")[0], "user": _user(), "last": self.nodes - 1}
        conf = _CONF.format(**own) + "".join(f"{line}\n" for line in self.lines)
        plan = {
            "folder": str(self.place),
            "nodes": self.nodes,
            "user": _user(),
            "nice": self.nice if os.getuid() == 0 else 0,
            "files": {"slurm.conf": conf, "slurmdbd.conf": _ACCOUNTING.format(**own)},
            "accounts": self._accounts(),
        }
        self.keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PATH": _PATH},
            start_new_session=True,
        )
        assert self.keeper.stdin is not None
        assert self.keeper.stdout is not None
        self.keeper.stdin.write(json.dumps(plan) + "\n")
        self.keeper.stdin.flush()
        answer = json.loads(self.keeper.stdout.readline() or '{"error": "its keeper was killed"}')
        if "error" in answer:
            self._end()
            raise ModelError(f"the Slurm lab did not start: {answer['error']}")
        self.seconds, self.ports = answer["seconds"], answer["ports"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self.keeper is not None:
            assert self.keeper.stdin is not None
            assert self.keeper.stdout is not None
            self.keeper.stdin.close()
            self.keeper.wait()
            self.keeper.stdout.close()
            self.keeper = None

    def _accounts(self) -> list[list[str]]:
        words = [["add", "cluster", "lab"]]
        if self.qos:
            words += [["add", "account", "lab"]]
            words += [["add", "qos", name, f"priority={level}"] for name, level in self.qos.items()]
            words += [["add", "user", _user(), "account=lab", f"qos={','.join(['normal', *self.qos])}"]]
        return words

    @property
    def first_words(self) -> list[str]:
        """Words before a client's command, so that it has the priority of the lab."""
        return ["nice", "-n", str(self.nice)] if os.getuid() == 0 and self.nice else []

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the clients of this lab."""
        return {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.place / "slurm.conf")}

    def call(self, *words: str) -> str:
        """Run a client and return what it prints.

        Parameters
        ----------
        *words : str
            Its command.

        Returns
        -------
        str
            What it printed.

        Raises
        ------
        ModelError
            If it fails.
        """
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise ModelError(f"{words[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout

    def sacct(self, jobs: int, *, patience: float = 60.0) -> str:
        """Return the log of all jobs, as soon as so many have ended in it.

        Parameters
        ----------
        jobs : int
            That are waited for.
        patience : float
            Seconds after which the log is returned as it is.
        """
        end = time.monotonic() + patience
        while True:
            text = self.call(
                "sacct",
                "--allusers",
                "--parsable2",
                "--allocations",
                "--starttime",
                "now-1days",
                "--format",
                SACCT,
            )
            ended = sum("|Unknown|" not in line for line in text.splitlines()[1:])
            if ended >= jobs or time.monotonic() > end:
                return text
            time.sleep(1.0)

    def cpu_seconds(self) -> float:
        """Return the processor seconds of the lab's daemons so far, its start included.

        Returns
        -------
        float
            Without clients, which `client_seconds` counts when they have ended.
        """
        assert self.keeper is not None
        numbers = [*members(self.place, self.keeper.pid), self.keeper.pid]
        return sum(map(_cpu_seconds, numbers))


def _cpu_seconds(number: int) -> float:
    """Processor seconds of a process and of children that it waited for; none of a worker or a client.

    Clients are children of the runner, who counts them with the jobs that they wait for.
    """
    try:
        name, _, rest = (Path("/proc") / str(number) / "stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return 0.0
    if name in ("salloc", "sbatch"):
        return 0.0
    return sum(map(int, rest.split()[11:15])) / os.sysconf("SC_CLK_TCK")


def _user() -> str:
    return getpass.getuser()
