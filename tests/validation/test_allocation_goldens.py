import json

import pytest

from tests.families import GRID
from validation.allocation.curves import CURVES
from validation.allocation.metrics import (
    dispersal,
    free_squares,
    free_tree_blocks,
    has_nested_free_blocks,
    is_spatially_compact,
    job_balance,
    nodes_affected,
    pairwise_distance,
    span,
    system_balance,
)
from validation.mesh import Mesh, Occupancy

#: Strategies of which the shared cases have sequences; one that is added has its own alone.
SHARED = {
    *("BT", "SBT", "DBT", "ind-BT", "ind-SBT", "ind-DBT", "d-BT", "d-SBT", "d-DBT", "SCBT"),
    *("PLAS", "MC-Elongated", "hilbert", "snake", "MBS", "MC", "Paging"),
}


@pytest.fixture(scope="module")
def goldens(cases):
    return cases / "allocation"


def sequences(folder):
    for path in sorted(folder.glob("*_*.json")):
        sequence = json.loads(path.read_text())
        if "rows" in sequence["mesh"]:
            yield path.stem, sequence


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("name", [name for name in GRID if name != "Random"])
def test_golden_sequences_come_out_node_for_node(goldens, name):
    own = [(stem, each) for stem, each in sequences(goldens) if each["strategy"] == name]
    if not own and name not in SHARED:
        pytest.skip(f"no shared sequence has {name}; its own are made by tests.data.make_allocation")
    assert len(own) >= 2
    for stem, sequence in own:
        strategy, mesh = GRID[name](**sequence["params"]), Occupancy(Mesh(**sequence["mesh"]))
        for k, op in enumerate(sequence["ops"]):
            if op["op"] == "release":
                mesh.release(op["id"])
                continue
            nodes = strategy.choose(mesh, op["size"])
            got = None if nodes is None else nodes.tolist()
            assert got == op["nodes"], f"{stem}, operation {k}"
            if nodes is not None:
                mesh.occupy(op["id"], nodes)


def test_golden_metrics_come_out_exactly(goldens):
    states = json.loads((goldens / "metrics.json").read_text())
    for state in states:
        mesh, job = Occupancy(Mesh(**state["mesh"])), state["job"]
        mesh.occupy("job", job)
        if rest := sorted(set(state["busy"]) - set(job)):
            mesh.occupy("others", rest)
        assert nodes_affected(mesh, job) == state["nodes_affected"]
        assert job_balance(mesh, job) == state["balance_job"]
        assert system_balance(mesh) == state["balance_system"]
        assert dispersal(mesh, job) == pytest.approx(state["dispersal"], rel=1e-15, abs=0)
        assert pairwise_distance(mesh, job) == state["pairwise_l1"]
        assert span(mesh, job, "hilbert") == state["span_hilbert"]
        assert span(mesh, job, "snake") == state["span_snake"]
        assert free_squares(mesh) == state["free_squares_D"]
        if state["free_tree_blocks"] is not None:
            assert free_tree_blocks(mesh).tolist() == state["free_tree_blocks"]
            assert is_spatially_compact(mesh) == state["spatially_compact"]
            assert has_nested_free_blocks(mesh) == state["lemma1"]
    assert len(states) > 50


def test_golden_curves_come_out_exactly(goldens):
    for key, order in json.loads((goldens / "curves.json").read_text()).items():
        curve, sides = key.split("_")
        assert CURVES[curve](*map(int, sides.split("x"))).tolist() == order
