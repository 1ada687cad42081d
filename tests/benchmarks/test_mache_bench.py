"""What a replay of the Paragon's log costs; run with --benchmark-enable. CPU time counts."""

import time

import numpy as np
import pytest

from qmodels.io import read_swf
from validation.jobs import LogStreams
from validation.machine import play
from validation.papers.mache.setup import Choices, machine, synthetic


@pytest.fixture
def cpu_benchmark(benchmark):
    play(machine(0.5, Choices()), synthetic(200.0, 20).draw(rng=np.random.default_rng(1)))
    benchmark._timer = time.process_time
    return benchmark


@pytest.mark.parametrize("percent", [100, 0])
def test_six_thousand_jobs_of_the_paragon_under_mc_elongated(cpu_benchmark, shared_data, percent):
    """Target: at most 60 s on one core."""
    log = read_swf(shared_data / "swf" / "SDSC-Par-1996-3.1-cln.swf.gz", partition=2)
    gap = 560.0 if percent else 45.0  # utilisation about .65
    jobs = LogStreams(log, jobs=6000, mean_interarrival=gap, largest=352)
    stream = jobs.draw(rng=np.random.default_rng(1))
    run = cpu_benchmark.pedantic(
        lambda: play(machine(percent / 100, Choices()), stream), rounds=1, iterations=1
    )
    assert run.completed.sum() == 6000
    cpu_benchmark.extra_info["utilisation"] = run.summary["utilisation"]
