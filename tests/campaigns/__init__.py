"""Every long campaign whose results are on record, one after the other: ``make record``.

A campaign whose record is there, made by the code that is there, is not run again; one that was
broken off goes on where its journal ends, or begins anew where it is a test. The modules of this
package are smaller ones, each with its own script: ``python -m tests.campaigns.NAME``.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from qmodels.commands.progress import at_work
from qmodels.words import in_words
from validation.papers import EXPERIMENTS
from validation.papers.record import read_record

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "record"
#: Where figures and journals of unfinished experiments lie.
WORK = ROOT / "build" / "record"


@dataclass(frozen=True)
class Campaign:
    """One campaign of the record."""

    name: str
    cpu_minutes: float  #: expected, from a sample; what is on record says it better
    tests: str = ""  #: options of pytest that choose it; "" for an experiment
    modules: tuple[str, ...] = ()  #: whose source its results hang on; an experiment knows its own

    def command(self, folder: Path) -> list[str]:
        """What runs it and writes its record."""
        if not self.tests:
            out = ["-o", str(WORK / self.name), "--record", str(folder)]
            words = [sys.executable, "-c", "from qmodels.cli import main; main()", "validate"]
            return [*words, self.name, *out]
        # by name, so that a log tells which of them is at work
        words = [sys.executable, "-m", "pytest", "-v", "--full", *shlex.split(self.tests)]
        return [*words, "--campaign", self.name, "--record", str(folder)]


_QBD = "tests/qmodels/test_qbd_families.py"
_CHAIN = "tests/qmodels/test_chain.py"
_EXPERIMENT_MINUTES = {
    "rosti-fig6": 0.6,
    "rosti-fig7": 0.9,
    "m-sweep": 0.3,
    "liu-fig3": 6.0,
    "liu-fig4": 6.0,
    "liu-fig5": 6.0,
    "liu-fig6": 6.0,
    "liu-conclusions": 9.5,
    "liu-choices": 15.0,
    "mache-fig9": 15.0,
    "mache-fig10": 15.0,
    "mache-load": 20.0,
    "mache-table2": 9.5,
    "mache-table2-worms-per-job": 20.0,
    "mache-table2-worms-per-node": 20.0,
    "mache-table2-packets-per-job": 20.0,
    "mache-table2-packets-per-node": 20.0,
    "mache-sdsc": 60.0,
    "trial-grid-8x8": 25.0,
    "trial-grid-16x16": 160.0,
    "trial-grid-16x22": 240.0,
    "slurm": 8.0,
}
_SWEEPS = tuple(f"validation.sweeps.{name}" for name in ("engines", "journal", "pools", "run"))
TESTED = (
    Campaign("kills", 8.0, "tests/validation/test_sweep_run.py -k 'hundred_kills or same_bytes'", _SWEEPS),
    # with the extra `distributed`; without it there is nothing to record
    Campaign(
        "kills-on-a-cluster",
        8.0,
        "tests/validation/test_sweep_dask.py -k 'twenty_kills or same_bytes'",
        _SWEEPS,
    ),
    Campaign(
        "coverage",
        20.0,
        "tests/validation/test_sharing_precision.py -k thousand_runs",
        ("validation.sharing.simulator",),
    ),
    Campaign(
        "exact-configurations",
        1.5,
        "tests/validation/test_sharing_exact.py -k three_hundred",
        ("validation.trial.agreement",),
    ),
    Campaign("qbd", 40.0, f"{_QBD} -k 'ten_thousand or two_thousand'", ("qmodels.markov.qbd",)),
    Campaign("chains", 6.5, f"{_CHAIN} -k 'ten_thousand or two_thousand'", ("qmodels.markov.chain",)),
    Campaign("darshan", 40.0, "tests/qmodels/test_darshan.py -k ten_thousand", ("qmodels.io.darshan",)),
    Campaign("swf", 10.0, "tests/qmodels/test_swf.py -k million_mutated", ("qmodels.io.swf",)),
    Campaign(
        "job-logs",
        7.0,
        "tests/qmodels/test_job_logs.py -k hundred_thousand",
        ("qmodels.io.job_logs.reading",),
    ),
    Campaign(
        "cut-logs",
        4.0,
        "tests/qmodels/test_job_logs_cut.py -k hundred_thousand",
        ("qmodels.io.job_logs.reading",),
    ),
    Campaign(
        "hostile-files",
        1.0,
        "tests/validation/test_hostile_files.py -k ten_thousand",
        (
            "qmodels.io.scenario",
            "validation.machine.scenario",
            "validation.cluster.scenario",
            "validation.slices.scenario",
            "validation.checkpoints.scenario",
        ),
    ),
    Campaign(
        "recording",
        2.0,
        "tests/qmodels/test_record.py -k in_full",
        ("qmodels.recording.sampling", "qmodels.recording.timeline"),
    ),
    Campaign(
        "trace-mutations",
        9.0,
        "tests/qmodels/test_trace_mutations.py -k hundred_thousand",
        ("qmodels.io.traced_runs", "qmodels.io.runs", "qmodels.recording.timeline"),
    ),
    Campaign(
        "scaling-task",
        2.0,
        "tests/qmodels/test_scaling_intervals.py -k number_1_the_task",
        ("qmodels.programs.scaling.forecast",),
    ),
    Campaign(
        "scaling",
        60.0,
        "tests/qmodels/test_scaling_intervals.py -k InFull",
        ("qmodels.programs.scaling.forecast", "qmodels.programs.scaling.next_run"),
    ),
)
CAMPAIGNS = {
    campaign.name: campaign
    for campaign in (
        *TESTED,
        *(Campaign(name, _EXPERIMENT_MINUTES.get(name, 30.0)) for name in EXPERIMENTS),
    )
}

#: Campaigns whose time was measured or counted on; of others it is a guess.
EXPECTED = {campaign.name for campaign in TESTED} | {*_EXPERIMENT_MINUTES}


def state(campaign: Campaign, folder: Path) -> str:
    """Whether a campaign is on record: "fresh", "of other code" or "not run"."""
    record = read_record(folder, campaign.name)
    if record is None or "--quick" in record.provenance["command"]:
        return "not run"
    return "fresh" if record.fresh else "of other code"


def _run(campaign: Campaign, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run one; what says nothing of its own for long is told of once a minute in a log."""
    command = campaign.command(folder)
    silent = bool(campaign.tests) and not sys.stderr.isatty()
    with at_work(campaign.name) if silent else nullcontext():
        return subprocess.run(command, cwd=ROOT, check=False)


def main() -> None:
    """Run what is not on record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="by default all", metavar="NAME")
    parser.add_argument("--dry-run", action="store_true", help="say what there is to do, and stop")
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    chosen = [CAMPAIGNS[name] for name in given.names] if given.names else [*CAMPAIGNS.values()]
    left = 0.0
    for campaign in chosen:
        record = read_record(given.record, campaign.name)
        seconds = record.provenance["cpu_seconds"] if record else 60 * campaign.cpu_minutes
        told = state(campaign, given.record)
        left += seconds * (told != "fresh")
        print(f"{campaign.name:<34} {told:<14} {in_words(seconds)} of CPU", file=sys.stderr)
    print(f"{in_words(left)} of CPU to do", file=sys.stderr)
    if given.dry_run:
        return
    WORK.mkdir(parents=True, exist_ok=True)
    failed = []
    for campaign in chosen:
        if state(campaign, given.record) != "fresh":
            print(f"--- {campaign.name}", file=sys.stderr, flush=True)
            done = _run(campaign, given.record.resolve())
            # 1: a finding fails, which is a result too
            if done.returncode not in (0, 1) or state(campaign, given.record) != "fresh":
                failed.append(campaign.name)
    if failed:
        raise SystemExit(f"without a record: {', '.join(failed)}")
