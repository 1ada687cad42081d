"""Subcommand `qmodels mesh`: what contention on a mesh does to jobs that share it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands.answers import AsJson, Seed, print_json
from qmodels.commands.choices import FIDELITIES, SIDES, choice
from qmodels.errors import ModelError
from qmodels.words import plural

if TYPE_CHECKING:
    from collections.abc import Hashable

    from validation.mesh import Contention, Mesh
    from validation.mesh.link_load import Job


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("mesh")(_mesh)


def _mesh(
    mesh: Annotated[
        str,
        typer.Option(help="Sides: rows x columns such as 16x22, or x by y by z such as 8x8x8."),
    ],
    pattern: Annotated[
        list[str],
        typer.Option(help="What every job sends, such as all-to-all or write; repeat for phases."),
    ],
    io_share: Annotated[
        float | None, typer.Option(help="Probability that a message of the pattern mixed is I/O.")
    ] = None,
    torus: Annotated[bool, typer.Option("--torus", help="Close every row and column.")] = False,
    io: Annotated[str | None, choice(SIDES, "--io", help="Side with I/O nodes.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many, all at once.")] = 1,
    size: Annotated[
        int | None, typer.Option(min=1, help="Nodes of each job, at random; by default all equal.")
    ] = None,
    flits: Annotated[int, typer.Option(min=1, help="Length of a message.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, help="How often each pattern is sent.")] = 1,
    repeat: Annotated[int, typer.Option(min=1, help="How often the phases are run.")] = 1,
    fidelity: Annotated[
        str, choice(FIDELITIES, "--fidelity", help="Loads alone, shared rates, or each flit.")
    ] = "worm",
    hop: Annotated[int, typer.Option(min=1, help="Cycles of a header at each channel.")] = 1,
    buffer: Annotated[int, typer.Option(min=1, help="Flits that a channel buffers.")] = 1,
    disk_pace: Annotated[float, typer.Option(help="Cycles that an I/O node needs for each flit.")] = 1.0,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the figures and the table.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate jobs on random nodes of a mesh that contend for its links.

    For example: qmodels mesh --mesh 16x22 --pattern all-to-all --jobs 4
    """
    import numpy as np

    from qmodels.commands.progress import at_work
    from qmodels.io.outputs import claim_output
    from validation.analysis.seeding import stream
    from validation.mesh import Router, Traffic, TrafficPhase, contend

    if output is not None:
        claim_output(output)
    place = _place(mesh, torus, io)
    each = place.nodes // jobs if size is None else size
    if each < 1 or each * jobs > place.nodes:
        raise ModelError(
            f"{jobs} {plural('job', jobs)} of {max(each, 1)} nodes do not fit the {place.nodes} "
            f"nodes of the mesh"
        )
    if fidelity != "worm" and (hop, buffer) != (1, 1):
        raise ModelError(f"--hop and --buffer are of worms: no router delays --fidelity {fidelity}")
    phases = tuple(
        TrafficPhase(pattern=name, flits=flits, rounds=rounds, io_share=io_share or 0.0) for name in pattern
    )
    if (io_share is not None) != ("mixed" in pattern):
        raise ModelError("--pattern mixed needs --io-share, which no other pattern takes")
    traffic = Traffic(phases, repeat=repeat)
    # Not the stream below the bare seed, whose words the messages of job 0 begin with.
    drawn = stream(seed, "nodes of the jobs").permutation(place.nodes)
    work: dict[Hashable, Job] = {
        f"job {k}": (np.sort(drawn[k * each : (k + 1) * each]), traffic) for k in range(jobs)
    }
    with at_work("moving messages"):
        run = contend(
            place,
            work,
            fidelity=fidelity,
            router=Router(hop=hop, buffer=buffer),
            disk_pace=disk_pace,
            seed=seed,
        )
    if output is not None:
        _write(run, output)
    if as_json:
        print_json(run.record())
    else:
        typer.echo(run.table())


def parsed_sides(text: str) -> tuple[int, ...]:
    """Numbers from text: rows and columns like 16x22, or x, y and z like 8x8x4; see `Sides`."""
    if not re.fullmatch(r"[0-9]{1,7}(x[0-9]{1,7}){1,2}", text, re.ASCII):
        raise ModelError(f"--mesh must be like 16x22 or 8x8x8, got {text!r:.40}")
    return tuple(map(int, text.split("x")))


def _place(sides: str, torus: bool, io: str | None) -> Mesh:
    from validation.mesh import Mesh

    return Mesh.of_sides(parsed_sides(sides), torus=torus, io_side=io)


def _write(run: Contention, output: Path) -> None:
    from qmodels.io.outputs import output_folder
    from validation.mesh.plotting import link_map, phase_strip

    with output_folder(output) as made:
        run.to_frame().to_csv(made / "links.csv", index=False)
        _save(link_map(run.mesh, run.utilisation), made / "links.png")
        if run.completions and len(run.completions[0].phases) <= 200:
            _save(phase_strip(run.completions[0]), made / "phases.png")
    typer.echo(str(output / "links.png"), err=True)


def _save(axes: Any, file: Path) -> None:
    from qmodels.plotting.fonts import save

    save(axes.get_figure(), file)
