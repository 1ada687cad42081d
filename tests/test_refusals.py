"""What cannot be asked, of all packages: each is refused in words that say what to do."""

from __future__ import annotations

import numpy as np
import pytest

from phasefit import MAP, Observations, fit, fit_map, lag1_range
from phasefit.forms import read_json
from phasefit.marked_arrivals import MarkedMAP
from qmodels import Burst, Phase, Program
from qmodels.checkpoints import Checkpointing, Storage, best_interval
from qmodels.commands.options import numbers, ranges
from qmodels.errors import ModelError
from qmodels.networks.stations import Station
from qmodels.policies import SpeedTable
from qmodels.programs import allotment_path, speedup_surface
from qmodels.programs.growth import NamedGrowth
from qmodels.programs.traces import IOTotals
from qmodels.storage.runs import SharedRuns
from qmodels.storage.steady import closed_sharing
from validation.cluster import Cluster, SyntheticTraces
from validation.cluster.open_network import predict_no_balancing
from validation.mesh import Mesh, Network, Occupancy, Router, Traffic, TrafficPhase
from validation.mesh.fluid import fluid
from validation.mesh.traffic import Messages
from validation.papers.claims_page import Row
from validation.rigid import RigidJobs, simulate_rigid
from validation.slices.placement import place_of
from validation.slices.pod import Pod
from validation.trial.scenario import JobPlan

SURFACE = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4], [1, 2])
SPACED = Traffic.of(TrafficPhase(pattern="ring", flits=100, interval=5))
HELD = Occupancy(Mesh(2, 2))
HELD.occupy("a", [0])
ONE = Phase(io=Burst(1.0, law="1"), cpu=1.0)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: fit_map([1.0, 3.0] * 50, windows=[8.0]), "counts in some windows do not vary"),
        (lambda: lag1_range(1.0, 1.2, 1.7), "these moments take"),
        (lambda: fit([1.0, 2.0, 4.0, 9.0], order=1).bands(4.0), "no replicas to take bands from"),
        (lambda: read_json("{}"), "the law lacks alpha and T"),
        (lambda: MarkedMAP([[-1.0]], [[[1.0]], [[0.0]]]), "events of kind 1 never come"),
        (lambda: Observations.of([1.0, np.inf]), r"samples\[1\] is infinite"),
        (lambda: best_interval(Checkpointing(300.0, interval=1.0), Storage(1.0)), "give mtbf"),
        (lambda: Checkpointing(300.0, timer="clock", jitter=0.5, interval=9.0), 'jitter is for timer "work"'),
        (lambda: numbers("--processors", "8-4"), "ends below its start; write 4-8"),
        (lambda: ranges("--within", "8-4,1"), "ends below its start; write 4-8"),
        (lambda: NamedGrowth("cubic"), "unknown growth law"),
        (lambda: allotment_path(Program([ONE]), [2.0, 1.0]), "budgets must increase, but 1 follows 2"),
        (lambda: SURFACE.efficacy(lambda p, d: np.ones(3)), "answered shape"),
        (lambda: RigidJobs([1.0, 0.0], [1, 1], [1.0, 1.0]), "submit must start at 0 or later and not fall"),
        (lambda: Mesh(4, 4, io_side="front"), "needs a 3-D mesh, depth is 1"),
        (lambda: HELD.occupy("a", [1]), "job 'a' holds nodes already; release it first"),
        (lambda: Network(Mesh(2, 2)).messages(), "no messages were kept"),
        (lambda: Messages([0, 1], [0], [1], [1]), "source has 1 entries and created has 2"),
        (lambda: simulate_rigid(RigidJobs([0.0], [1], [1.0]), 4, "FCFS", cap={7: 1}), "cap names user 7"),
        (lambda: place_of(Pod((2, 2, 2), turning=False), [(1, 1, 1)], "TFF"), "use FF"),
        (lambda: SyntheticTraces(io_free=1.0), "no job uses a disk with io_free 1"),
        (
            lambda: predict_no_balancing(Cluster.of(4), SyntheticTraces(parallel=0.0, nodes=8)),
            "the traces are for 8 nodes, the cluster has 4",
        ),
        (lambda: JobPlan(io_flits=0.0, cpu_cycles=0.0), "a job must transfer or compute"),
        (lambda: Row(("", "", "", "a @@ b"), "page:3").references, "page:3: write reading @@ numbers"),
        (lambda: fluid(Mesh(1, 4), {"a": ([0, 1], SPACED)}), "no messages with an interval; use 'worm'"),
        (lambda: IOTotals(*[[0]] * 7, [0.0, 1.0]), "last_close has 2 entries where rank has 1"),
        (lambda: MAP.from_rates([[1.0]], [[1.0]]), r"jumps\[0, 0\] must be 0, got 1; it is derived"),
        (lambda: MAP.from_rates([[0.0]], np.ones((2, 2))), "jumps and events must have one shape"),
        (lambda: MAP([[-1.0]], [[1.0]]).superpose(ONE), "a MAP can be joined by MAPs"),
        (lambda: Observations([1.0], [1.0, 2.0], [], [], []), "must be vectors of one length"),
        (lambda: Station("", speeds=[1.0]), "name of a station must be a text"),
        (lambda: Station("x", servers=2, speeds=[1.0]), "one of the three"),
        (lambda: Station("x", servers=2, discipline="lcfs-pr"), '"lcfs-pr" has one server; use "ps"'),
        (lambda: Router(hop=1, flow=2), "flow must be <= hop, which is 1; got 2"),
        (lambda: Router(cut_through=True, buffer=4), "with cut_through buffers are unlimited"),
        (lambda: SharedRuns({}), "there is no stage in these runs"),
        (lambda: SharedRuns({"read": {1: [0.0]}}), "all times of runs alone are zero"),
        (lambda: SharedRuns({"read": {1.5: [1.0]}}), "the number of programs must be a whole number"),
        (lambda: SharedRuns({"read": {1: [-1.0]}}), "must be seconds of at least zero"),
        (lambda: closed_sharing([], 2), "stages must be one or more StageCurve"),
        (lambda: SpeedTable([1.0], source=3), "source must be a text, got 3"),
        (lambda: Mesh(2, 2).channel_name(99), "channel must be <="),
        (lambda: TrafficPhase(pattern="ring", targets=2), "targets are for the pattern 'random'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(ask, words):
    with pytest.raises(ModelError, match=words):
        ask()
