"""What all commands have in common: one JSON, choices in the help, an example, names."""

from __future__ import annotations

import json
from importlib.metadata import entry_points

import pandas as pd
import pytest
import typer

from qmodels.commands import choices
from tests.command import called, result_of
from tests.objects import SCENARIO

#: A command of each kind as small as can be, with JSON; {site}, {runs}, ... are files made below.
CALLS = {
    "allocate": "{log} --mesh 4x4 --io west --network none --strategies mbs,ff --jobs 12 "
    "--replications 2 -j 1",
    "balance": "--balancers nlb,iocm_re --nodes 4 --jobs 20 --replications 2 -j 1",
    "checkpoint": "--jobs 2 --size 1TB --bandwidth 1GB/s --interval 2h --mtbf 24h --replications 2 -j 1",
    "compare": "{runs} {runs}",
    "export": "{site} --policy sp(1,1) --load 0.2",
    "fit": "{times} --order 1",
    "jobs": "{log}",
    "mesh": "--mesh 4x4 --pattern ring --fidelity Static",
    "predict": "{site} --policy sp(2,1) --model Speed_Scaled",
    "recommend": "{site} --listed --load 0.3",
    "record": "-o {folder}/recorded.csv -- true",
    "share": "{shared} --together 4",
    "simulate": "{site} --policy sp(1,1) --load 0.2 --jobs 40 --replications 2 -j 1",
    "site": "{log} --resamples 5",
    "slices": "--pod 2x1x1 --mix 1x1x1 --load 0.3 --strategies tff --disciplines fcfs --jobs 200 "
    "--replications 2 -j 1",
    "study": "{site} -o {folder}/report -j 1",
    "surface": "{runs} --processors 1,4 --disks 1",
    "sweep": "{site} --over load=.1,.2 policy=sp(1,1) -j 1 --journal {folder}/sweep.journal",
    "validate": "",
    "what-if": "{site} --over disks=1,2 -j 1",
}
#: Their own tests read the same JSON, by `result_of`; here they are called with --full.
ELSEWHERE = {"allocate", "balance", "checkpoint", "compare", "slices", "study", "surface"}
#: Made of others, or too long for here.
NOT_HERE = {"demo": "the study above, on a larger scenario"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "site.toml").write_text(SCENARIO + '[validation]\npolicies = ["SP(1,1)"]\nreplications = 2\n')
    runs = [
        ("solver", 1, kind, p, 1, seconds / p, repeat)
        for kind, seconds in (("io", 8.0), ("cpu", 96.0))
        for p in (1, 2, 4)
        for repeat in (1, 2)
    ]
    names = ["program", "phase", "kind", "p", "d", "seconds", "repeat"]
    pd.DataFrame(runs, columns=names).to_csv(folder / "runs.csv", index=False)
    (folder / "times.txt").write_text("\n".join(map(str, [1.0, 2.0, 4.0, 9.0, 3.0, 5.0])))
    (folder / "shared.csv").write_text("programs,total\n1,8.0\n1,8.1\n2,9.0\n2,9.2\n")
    rows = [f"{k + 1} {60 * k} 0 {50 + k} {1 + k % 4} -1 -1 {1 + k % 4} -1 -1 1" for k in range(30)]
    (folder / "log.swf").write_text("\n".join(f"{row} -1 -1 -1 -1 -1 -1 -1" for row in rows))
    names = {"site": "site.toml", "runs": "runs.csv", "times": "times.txt", "log": "log.swf"}
    names["shared"] = "shared.csv"
    return {key: str(folder / name) for key, name in names.items()} | {"folder": str(folder)}


@pytest.fixture(scope="module")
def commands():
    app = typer.Typer(rich_markup_mode=None)
    for plugin in entry_points(group="qmodels.commands"):
        plugin.load()(app)
    return typer.main.get_command(app).commands


def test_every_command_is_called_here(commands):
    assert sorted([*CALLS, *NOT_HERE]) == sorted(commands)


@pytest.mark.thorough(first=1, but=["site", "record", "sweep"])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in ELSEWHERE else n for n in CALLS]
)
def test_every_command_prints_one_object_with_the_same_names(name, files):
    words = [word.format(**files) for word in CALLS[name].split()]
    done = called(name, "--json", *words)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    answer = json.loads(line, parse_constant=pytest.fail)
    assert list(answer) == ["schema", "version", "command", "result", "warnings"]
    assert (answer["schema"], answer["version"]) == ("qmodels.command", 1)
    assert answer["command"] == name
    assert isinstance(answer["result"], dict | list)
    assert answer["result"]
    assert all(isinstance(warning, str) for warning in answer["warnings"])
    assert all(warning in done.stderr for warning in answer["warnings"])


def test_the_same_options_are_called_the_same_everywhere(commands):
    flags = {}
    for name, command in commands.items():
        for option in command.params:
            if {"--json", "--workers", "-j"} & set(option.opts):
                flags.setdefault(tuple(option.opts), []).append((name, option.help))
    assert sorted(flags) == [("--json",), ("-j", "--workers")]
    assert len(flags["--json",]) == len(commands)
    assert {len({help for _, help in each}) for each in flags.values()} == {1}


def test_every_help_has_an_example_that_begins_with_the_command(commands):
    for name, command in commands.items():
        example = " ".join(command.help.partition("For example:")[2].split())
        assert example.startswith(f"qmodels {name} "), name
        known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
        used = [word for word in example.split(" -- ")[0].split() if word.startswith("-")]
        assert set(used) <= known, name


def test_choices_are_those_of_the_packages():
    from phasefit import fitting, forms
    from qmodels import exports
    from qmodels.checkpoints.model import MODES
    from qmodels.io.job_logs import FORMATS, UNITS
    from qmodels.io.traced_runs import MODULES
    from qmodels.policies import MODELS
    from validation.machine.machine import NETWORKS
    from validation.mesh.contention import FIDELITIES
    from validation.mesh.topology import SIDES
    from validation.study.sweep import KINDS

    known = {
        "MODELS": ["auto", *MODELS],
        "FAMILIES": fitting.FAMILIES,
        "CRITERIA": fitting.CRITERIA,
        "FORMS": {**forms.FORMS, **exports.FORMS},
        "LOG_FORMATS": FORMATS,
        "UNITS": UNITS,
        "MODULES": MODULES,
        "FIDELITIES": FIDELITIES,
        "NETWORKS": NETWORKS,
        "SIDES": SIDES,
        "WRITE_MODES": MODES,
        "SWEEPS": KINDS,
    }
    for name, own in known.items():
        assert sorted(getattr(choices, name)) == sorted(own), name


def test_choices_are_shown_completed_and_spelled_as_they_are_known(commands):
    (model,) = (option for option in commands["predict"].params if option.name == "model")
    assert model.metavar == f"[{'|'.join(choices.MODELS)}]"
    assert called("predict", "--help").stdout.count(f"[auto|{choices.MODELS[1]}|") == 1


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("load", ["0", "1", "80", "-0.5", "nan", "inf"])
@pytest.mark.parametrize("name", ["predict", "simulate", "recommend", "export"])
def test_a_load_out_of_range_is_refused_before_anything_is_read(name, load):
    done = called(name, "no-such-file.toml", f"--load={load}")
    assert done.returncode == 3
    assert done.stderr.startswith("qmodels: --load ")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("predict", "{site}", "--model", "exakt"), 3, "did you mean 'exact'?"),
        (("fit", "{times}", "--family", "hyper"), 3, "family must be one of"),
        (("predict", "{site}", "--policy", "SP(9,9)"), 3, "--policy must be one of"),
        (("predict", "{site}", "--no-such-option"), 2, "No such option"),
        (
            ("recommend", "{site}", "--listed", "--load", ".3", "--constraint", "p95_s < 1e-3", "--json"),
            1,
            "",
        ),
    ],
)
def test_wrong_words_have_the_exit_codes_of_all_commands(words, code, said, files):
    done = called(*(word.format(**files) for word in words))
    assert (done.returncode, said in done.stderr) == (code, True)


def test_warnings_of_one_call_do_not_come_up_in_the_next(files):
    first = called("fit", files["times"], "--json")
    second = called("predict", files["site"], "--json", "--load", "0.2")
    assert json.loads(second.stdout)["warnings"] == []
    assert result_of(first.stdout)["n"] == 6
