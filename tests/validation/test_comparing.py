"""Commands that compare: one skeleton, whose options stand for keys of a declared file."""

import pytest
import typer

from validation.checkpoints.scenario import CheckpointFile
from validation.cluster.scenario import ClusterFile
from validation.commands import allocate, balance, checkpoint, slices, study
from validation.machine.scenario import AllocationFile
from validation.slices.scenario import SliceFile

FILES = {
    allocate: AllocationFile,
    balance: ClusterFile,
    checkpoint: CheckpointFile,
    slices: SliceFile,
}


@pytest.mark.parametrize("module", FILES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_option_stands_for_a_key_of_the_file(module):
    file = FILES[module]
    for option in module._OPTIONS.values():
        table, _, key = option.key.rpartition(".")
        declared = file.model_fields[table].annotation if table else file
        declared = getattr(declared, "__args__", (declared,))[0]  # of a table or None
        # A key that ends in a dot stands for several of its table.
        assert not key or key in declared.model_fields, option.key


@pytest.mark.parametrize(
    ("module", "name"),
    [*((module, module.__name__.rpartition(".")[2]) for module in FILES), (study, "study"), (study, "demo")],
)
def test_every_one_of_them_keeps_its_work_and_answers_in_every_way(module, name):
    app = typer.Typer()
    app.callback()(lambda: None)
    module.register(app)
    command = typer.main.get_command(app).commands[name]
    flags = {flag for option in command.params for flag in option.opts}
    assert {"--json", "--set", "--reuse", "--keep-journal", "--output", "--workers", "--seed"} <= flags
