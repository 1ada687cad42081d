import numpy as np
import pytest
from matplotlib.figure import Figure

from qmodels.errors import ModelError
from tests.command import invoked, result_of
from validation.analysis.seeding import stream
from validation.mesh import Mesh, Traffic, TrafficPhase, contend, latency_curve
from validation.mesh.plotting import latency_against_load, link_map, phase_strip


def command(*arguments):
    from validation.commands.mesh import register

    return invoked(register, "mesh", *arguments)


@pytest.mark.thorough
def test_simulate_prints_what_contend_says_and_writes_a_table_and_two_figures(tmp_path):
    out = tmp_path / "deep" / "out"
    options = (
        "--mesh",
        "6x5",
        "--io",
        "west",
        "--pattern",
        "all-to-all",
        "--pattern",
        "write",
        "--jobs",
        3,
        "--size",
        8,
        "--seed",
        4,
        "--json",
        "-o",
        out,
    )
    done = command(*options)
    assert done.exit_code == 0, done.output
    said = result_of(done.stdout)
    mesh = Mesh(6, 5, io_side="west")
    nodes = stream(4, "nodes of the jobs").permutation(30)
    plan = Traffic.of(TrafficPhase(pattern="all-to-all"), TrafficPhase(pattern="write"))
    jobs = {f"job {k}": (np.sort(nodes[8 * k : 8 * k + 8]), plan) for k in range(3)}
    run = contend(mesh, jobs, seed=4)
    assert said["makespan"] == run.makespan
    assert said["jobs"] == {job.job: job.response for job in run.completions}
    assert {file.name for file in out.iterdir()} == {"links.csv", "links.png", "phases.png"}


@pytest.mark.parametrize("fidelity", ["static", "fluid", "worm"])
def test_every_fidelity_runs_from_the_command_line(fidelity):
    done = command("--mesh", "4x4x2", "--torus", "--pattern", "fft", "--fidelity", fidelity)
    assert done.exit_code == 0
    assert "makespan" in done.output


def test_a_mixed_pattern_that_is_all_io_sends_every_message_to_an_io_node():
    said = command("--mesh", "4x4", "--io", "west", "--pattern", "mixed", "--io-share", 1, "--json")
    run = contend(
        Mesh(4, 4, io_side="west"), {"a": (range(16), Traffic.of(TrafficPhase(pattern="mixed", io_share=1)))}
    )
    assert result_of(said.stdout)["messages"] == run.messages == 16


@pytest.mark.parametrize("mesh", ["1x1", "1x4"])
def test_no_link_is_called_the_busiest_where_none_carries_anything(mesh):
    done = command("--mesh", mesh, "--pattern", "ring", "--size", 1, "--json")
    assert result_of(done.stdout)["worst_link"] is None
    assert "no link" not in command("--mesh", mesh, "--pattern", "ring", "--size", 1).stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--mesh", "16", "--pattern", "ring"),
        ("--mesh", "٤x٤", "--pattern", "ring"),
        ("--mesh", "0x4", "--pattern", "ring"),
        ("--mesh", "9999999x9999999", "--pattern", "ring"),
        ("--mesh", "4x4", "--pattern", "<script>"),
        ("--mesh", "4x4", "--pattern", "write"),
        ("--mesh", "4x4", "--pattern", "ring", "--jobs", 17),
        ("--mesh", "4x4", "--pattern", "ring", "--size", 17),
        ("--mesh", "4x4", "--pattern", "ring", "--disk-pace", "nan"),
        ("--mesh", "4x4", "--pattern", "ring", "--fidelity", "best"),
        ("--mesh", "4x4", "--pattern", "ring", "--io", "up"),
        ("--mesh", "4x4", "--pattern", "ring", "--fidelity", "fluid", "--hop", 2),
        ("--mesh", "4x4", "--pattern", "ring", "--fidelity", "static", "--buffer", 2),
        ("--mesh", "4x4", "--pattern", "ring", "--io-share", 0.5),
        ("--mesh", "4x4", "--pattern", "mixed", "--io", "west"),
    ],
)
def test_bad_options_are_named_and_nothing_is_written(options, tmp_path):
    done = command(*options, "-o", tmp_path / "out")
    assert isinstance(done.exception, ModelError)
    assert not (tmp_path / "out").exists()


def test_the_link_map_shows_every_link_once_and_the_io_nodes():
    mesh = Mesh(4, 5, io_side="west", io_places=[0, 3])
    run = contend(mesh, {"a": (range(20), Traffic.of(TrafficPhase(pattern="write")))})
    ax = run.plot(Figure().add_subplot())
    [lines] = [c for c in ax.collections if len(c.get_array()) > 0]
    assert len(lines.get_array()) == mesh.link_ends()[0].size
    assert lines.get_array().max() == pytest.approx(run.utilisation[run.worst_link])
    disks = ax.lines[1].get_xydata()
    assert disks.tolist() == [[-1, 0], [-1, 3]]
    for wrong in ([1.0], np.full(mesh.channels, np.nan)):
        with pytest.raises(ModelError):
            link_map(mesh, wrong)


def test_a_torus_and_a_layer_can_be_drawn():
    for mesh in (Mesh(3, 4, torus=True), Mesh(3, 3, 3)):
        ax = link_map(mesh, np.zeros(mesh.channels), layer=mesh.depth - 1)
        assert ax.get_xlabel() == "column"


def test_the_strip_has_a_row_for_each_pattern_and_takes_hostile_names_as_text():
    plan = Traffic.of(TrafficPhase(pattern="ring"), TrafficPhase(pattern="write", pause=9), repeat=2)
    mesh = Mesh(4, 4, io_side="west")
    run = contend(mesh, {"$\\frac{x}$\x1b[2J": (range(4), plan)})
    ax = phase_strip(run.completions[0])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["ring", "write"]
    ax.get_figure().canvas.draw()
    assert "\x1b" not in ax.get_title()


def test_latency_against_load_has_two_lines_for_each_name():
    points = latency_curve(Mesh(3, 3), [0.05, 0.1], window=1000, warm_up=100)
    ax = latency_against_load({"3x3": points})
    assert len(ax.lines) == 2
    assert ax.lines[0].get_ydata().tolist() == [point.mean_latency for point in points]
    with pytest.raises(ModelError):
        latency_against_load({})
