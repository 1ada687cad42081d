"""Plain data, keys made of it, and the version of the source that results hang on."""

import dataclasses
import datetime
import functools
import importlib
import math
import os
import subprocess
import sys
from concurrent.futures import Executor, Future
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as some

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.io import JobLog
from qmodels.policies import SpaceSharing
from validation.allocation import STRATEGIES
from validation.analysis.estimates import Estimate
from validation.jobs import LogStreams, PoissonStreams
from validation.machine import Machine, simulate_machine
from validation.mesh import Mesh
from validation.papers import EXPERIMENTS
from validation.papers.base import RunOptions, SharedRuns
from validation.sweeps import version
from validation.sweeps.plain import PlainDataError, canonical, digest, from_text, to_text
from validation.sweeps.points import Point, combinations
from validation.sweeps.version import code_version, source_files

ROOT = Path(__file__).resolve().parents[2]
numbers = some.floats() | some.integers() | some.booleans() | some.none() | some.text()
values = some.recursive(
    numbers,
    lambda inner: (
        some.lists(inner)
        | some.dictionaries(some.text(), inner)
        | some.tuples(inner, inner)
        | some.dictionaries(some.integers(), inner)
    ),
)


def same(one, other):
    """Whether two values are the same to the last bit and the last type."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one.hex() == other.hex()
    return one == other


@pytest.mark.thorough
@given(values)
def test_what_is_written_is_read_back_to_the_last_bit(value):
    assert same(from_text(to_text(value)), value)


@pytest.mark.thorough
@given(values, values)
def test_two_values_have_one_text_only_if_they_are_the_same(one, other):
    def ordered(value):
        if isinstance(value, dict):
            return dict(sorted(((k, ordered(v)) for k, v in value.items()), key=repr))
        if isinstance(value, (list, tuple)):
            return type(value)(map(ordered, value))
        return value

    if same(ordered(one), ordered(other)):
        assert canonical(one) == canonical(other)
    elif not (isinstance(one, float) and math.isnan(one)):
        assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    "value",
    [
        Estimate(1.5, float("inf"), 0.95, 1),
        Fraction(1, 3),
        SpaceSharing(4, 16),
        datetime.datetime(2026, 1, 2, 3, 4, 5),
        {(1, 2): "a"},
        {"$tuple": 1},
        {"$x": {"y": ()}},
    ],
)
def test_records_of_the_project_come_back_equal(value):
    assert from_text(to_text(value)) == value


def test_arrays_come_back_with_shape_type_and_bits(rng):
    for array in (
        rng.normal(size=(2, 3)).T,
        np.array([], dtype=np.int32),
        np.array(["a", "bc"]),
        np.array([1.5, None, ()], dtype=object),
        np.array(7.0),
    ):
        back = from_text(to_text(array))
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert back.tolist() == array.tolist()


def test_the_history_of_a_machine_comes_back_as_it_was():
    machine = Machine(mesh=Mesh(4, 4, io_side="west"), strategy="PLAS")
    jobs = PoissonStreams(jobs=12, mean_interarrival=40.0, mean_size=3.0, largest=16)
    history = simulate_machine(machine, jobs, replications=1).first
    back = from_text(to_text(history))
    assert back.summary == history.summary
    assert [held.tolist() for held in back.nodes] == [held.tolist() for held in history.nodes]


def test_a_law_comes_back_as_it_was():
    law = PhaseType.hyperexponential(weights=[0.3, 0.7], means=[1.0, 5.0])
    back = from_text(to_text(law))
    assert (back.T.tolist(), back.moment(3)) == (law.T.tolist(), law.moment(3))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"$record": "os:system", "fields": {}}',
        '{"$record": "subprocess:Popen"}',
        '{"$record": "validation.sweeps.plain:from_text", "fields": {}}',
        '{"$nothing": 1}',
        '{"$record": "qmodels.errors:NoSuch", "fields": {}}',
        '{"$array": "|O", "data": ""}',
        '{"$named": "qmodels.errors:ModelError", "values": []}',
        '{"$array": "<f8", "data": "?"}',
        '{"$record": "validation.analysis.estimates:Estimate", "fields": {"mean": 1}}',
        '{"$name": "qmodels.errors:ModelError", "member": "no_such"}',
    ],
)
def test_a_damaged_or_hostile_text_is_refused_and_runs_nothing(text):
    with pytest.raises(ModelError):
        from_text(text)


def test_what_has_no_text_is_refused():
    class Within:
        pass

    for value in (object(), open, Within, lambda: 0, {1, 2}):
        with pytest.raises(PlainDataError):
            to_text(value)
    for value in (Within(), lambda: 0, object()):
        with pytest.raises(PlainDataError):
            canonical(value)


class Pair(NamedTuple):
    left: int
    right: int


def test_keys_tell_functions_classes_laws_sets_and_named_tuples_apart():
    law = scipy.stats.gamma
    different = [
        functools.partial(to_text, 1),
        functools.partial(to_text, 2),
        functools.partial(digest, 1),
        law(2.0),
        law(3.0),
        scipy.stats.weibull_min(2.0),
        {1, 2},
        {1, 3},
        frozenset(),
        (1, 2),
        Pair(1, 2),
        [1, 2],
        to_text,
        Pair,
        Path("a"),
        "a",
        1,
        1.0,
        True,
        None,
        "1",
        np.arange(2),
        np.arange(2.0),
        PhaseType.exponential(mean=1.0),
        PhaseType.exponential(mean=2.0),
        0.0,
        -0.0,
    ]
    assert len({digest(value) for value in different}) == len(different)


def test_tables_of_pandas_have_keys_by_what_they_hold():
    """Jobs of a log are such a table; without a key what is done with them was not kept."""

    def table(**columns):
        return pd.DataFrame({"submit": [0, 60, 180], "run": [30.0, np.nan, 40.0]} | columns)

    one = table()
    different = [
        one,
        one[::-1],
        one[["run", "submit"]],
        one.rename(columns={"run": "wait"}),
        one.run,
        table(run=[30.0, 20.0, 40.0]),
        table(submit=[0.0, 60.0, 180.0]),
        one.set_index("submit"),
        table(user=["a", "b", None]),
        table(user=["a", "b", "c"]),
    ]
    assert len({digest(value) for value in different}) == len(different)
    assert digest(table()) == digest(one.copy())
    with pytest.raises(PlainDataError):
        to_text(one)  # a key's hash does not lead back to the rows
    log = JobLog("made", {"submit": [0, 60, 180], "run": [30, 20, 40], "processors": [4, 8, 2]})
    keys = [digest(LogStreams(log, largest=nodes)) for nodes in (8, 8, 16)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_strategy_has_a_key_of_its_own(name):
    others = {digest(cls()) for other, cls in STRATEGIES.items() if other != name}
    assert digest(STRATEGIES[name]()) not in others
    assert digest(STRATEGIES[name]()) == digest(STRATEGIES[name]())


@pytest.mark.thorough
def test_a_key_is_the_same_in_every_process():
    """Python's own hashes differ from process to process; sets would come in another order."""
    words = (
        "from validation.sweeps.plain import digest; from qmodels.policies import SpaceSharing;"
        "print(digest([{'b': 2, 'a': {'x', 'y', 'z'}}, SpaceSharing(4, 16)]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", words],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert said == {digest([{"a": {"z", "y", "x"}, "b": 2}, SpaceSharing(4, 16)]) + "\n"}


def test_the_key_of_a_users_class_changes_with_its_source(tmp_path, monkeypatch):
    from validation.sweeps import plain

    monkeypatch.syspath_prepend(tmp_path)
    keys = set()
    for body in ("1", "2"):
        (tmp_path / "own_strategy_of_mine.py").write_text(f"class Mine:\n    x = {body}\n")
        importlib.invalidate_caches()
        sys.modules.pop("own_strategy_of_mine", None)
        plain.source_hash.cache_clear()
        keys.add(digest(importlib.import_module("own_strategy_of_mine").Mine()))
    assert len(keys) == 2


def test_the_key_of_a_users_class_changes_with_what_it_imports_from_its_folder(tmp_path, monkeypatch):
    from validation.sweeps import plain

    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "own_package_of_mine"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "steps.py").write_text("import numpy as np\nfrom .sizes import X, Y\n")
    (folder / "mine.py").write_text("from . import steps\nimport json, no_such_module\nclass Mine: pass\n")
    hashes, named = [], []
    for x in (1, 2, 1):
        (folder / "sizes.py").write_text(f"X = Y = {x}\n")
        importlib.invalidate_caches()
        plain.source_hash.cache_clear()
        hashes.append(plain.source_hash("own_package_of_mine.mine"))
        named.append(digest({"model": "own_package_of_mine.mine:Mine"}))
    assert hashes[0] == hashes[2] != hashes[1]
    assert plain.source_hash("no_such_module") == ""
    assert named[0] == named[2] != named[1]


def test_the_key_of_a_point_holds_everything_but_where_its_files_lie():
    point = Point(kind="k", tables="{}", settings=(("load", 0.5),), seed=0, version="1")
    changes = [
        {"kind": "l"},
        {"tables": '{"a": 1}'},
        {"settings": (("load", 0.6),)},
        {"seed": 1},
        {"version": "2"},
        {"inputs": (("log", "abc"),)},
    ]
    keys = [dataclasses.replace(point, **change).key(0) for change in changes]
    assert len({point.key(0), point.key(1), *keys}) == len(changes) + 2
    assert dataclasses.replace(point, file="/elsewhere/s.toml").key(0) == point.key(0)


def test_a_sweep_of_too_many_points_or_none_is_refused():
    with pytest.raises(ModelError, match="1,000,000,000 points"):
        list(combinations({name: range(1000) for name in "abc"}))
    with pytest.raises(ModelError, match="load has no values"):
        list(combinations({"load": []}))


class InThread(Executor):
    """Does each task at once, where it is handed in."""

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        future.set_result(function(*args, **kwargs))
        return future


class TestVersion:
    def test_words_do_not_count_and_code_does(self):
        def told(source):
            import ast

            return version._without_words(source, version._statements(ast.parse(source)))

        code = 'def f(x):\n    """Say."""\n    return x  # why\n'
        assert told(code) == told("def f(x):\n\n    # why not\n    return x\n")
        assert told(code) != told("def f(x):\n    return -x\n")
        assert told('x = "# no comment"\n') != told('x = "# none"\n')
        assert told('f(1); "a"\n') != told('f(2); "a"\n')
        # a comment begins where no text is open, however the text is quoted
        for text in ('"\\"#1"', "'\"#1'", 'r"\\#1"', '"""a\n"#1\n"""', "f'{x}#1'", "b'#1'"):
            assert told(f"x = {text}  # one\n") == told(f"x = {text}  # two's \"\n")
            assert told(f"x = {text}\n") != told(f"x = {text}\n".replace("#1", "#2"))
        assert told("x = lambda: 1  # é '\ny = 2\n") == told("x = lambda: 1\ny = 2\n")
        assert told("if x:\n    try:\n        'w'\n    except A:\n        'v'\n") == (
            "if x:\n    try:\n    except A:"
        )

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", list(EXPERIMENTS))
    def test_every_experiment_hangs_on_what_simulates_it_and_on_no_figure(self, name):
        files = source_files(EXPERIMENTS[name].module)
        assert "validation/analysis/seeding.py" in files
        assert not any("plotting" in file or "/sweeps/executors" in file for file in files)
        if name.startswith("liu"):
            assert "validation/mesh/_kernels/events.py" in files
            assert "validation/allocation/binary_tree.py" in files
        if name.startswith("rosti"):
            assert "validation/sharing/_kernels.py" in files

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", ["liu-fig3", "qin-fig1", "bani-table1"])
    def test_it_holds_every_file_that_an_experiment_runs(self, name):
        """Watched while it runs; a version that missed a file would call old results new."""
        ran = set()

        def watch(frame, event, _):
            if event == "call" and frame.f_code.co_name != "<module>":
                ran.add(frame.f_code.co_filename)

        here = InThread()
        options = RunOptions(quick=True, workers=1, threads=here, processes=here)
        # Loops are compiled before anybody watches: watched, that takes three times as long.
        EXPERIMENTS[name].run(dataclasses.replace(options, shared=SharedRuns()))
        before = sys.getprofile()
        sys.setprofile(watch)
        try:
            EXPERIMENTS[name].run(options)
        finally:
            sys.setprofile(before)
        files = source_files(EXPERIMENTS[name].module)
        root = Path(version.__file__).parents[2]
        ours = {Path(file).relative_to(root) for file in ran if Path(file).is_relative_to(root)}
        ours = {file for file in ours if file.parts[0] in version._OURS}
        assert len(ours) > 10
        missed = {str(file) for file in ours} - files
        assert not {file for file in missed if version._counted(file[:-3].replace("/", "."))}

    @pytest.mark.thorough
    def test_what_is_asked_for_by_name_counts_and_a_reader_that_nobody_asks_does_not(self):
        files = source_files("validation.papers.mache.table2")
        assert {f"validation/allocation/{name}.py" for name in ("columns", "mc")} <= files
        assert "qmodels/io/job_logs/sacct.py" in source_files("qmodels.io.job_logs.reading")
        assert not {"qmodels/io/darshan.py", "qmodels/policies/prediction.py"} & files

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("module", "table"),
        [
            ("bani_mohammad.claims", "bani_mohammad"),
            ("liu.tolerances", "liu_trends"),
            ("mache.setup", "mache_table2"),
        ],
    )
    def test_a_table_that_a_paper_prints_counts_where_it_is_read(self, module, table):
        assert f"validation/papers/published/{table}.csv" in source_files(f"validation.papers.{module}")

    @pytest.mark.thorough
    def test_a_name_handed_on_by_a_stub_leads_to_its_own_file(self):
        assert "phasefit/phase_type.py" in source_files("qmodels.policies.prediction")
        assert not any(file.endswith(".pyi") for file in source_files("validation.study.run"))

    def test_a_module_that_is_not_there_is_told(self):
        with pytest.raises(KeyError, match="no_such"):
            code_version("validation.no_such")

    @pytest.mark.thorough
    def test_seeded_bug_a_changed_kernel_is_noticed(self, monkeypatch):
        before = code_version("validation.machine.runs")
        told = version._code_and_imports

        def changed(path):
            text, files = told(path)
            return (text + "x", files) if path.name == "events.py" else (text, files)

        monkeypatch.setattr(version, "_code_and_imports", changed)
        monkeypatch.setattr(version, "_noted_versions", dict)
        monkeypatch.setattr(version, "_write_versions", lambda versions: None)
        version._noted_or_read_version.cache_clear()
        assert code_version("validation.machine.runs") != before
        version._noted_or_read_version.cache_clear()

    def test_files_are_in_another_state_once_one_was_written_again(self, monkeypatch, tmp_path):
        (tmp_path / "ours" / "below").mkdir(parents=True)
        file = tmp_path / "ours" / "below" / "law.py"
        file.write_text("x = 1")
        monkeypatch.setattr(version, "_OURS", ("ours",))
        monkeypatch.setattr(version, "_packages_folder", lambda package: tmp_path)
        first, times = version._state_of_files(), file.stat()
        assert version._state_of_files() == first
        file.write_text("x = 2")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as an installer may set it
        assert version._state_of_files() != first

    def test_a_version_is_noted_for_the_files_as_they_are_and_for_no_others(self, monkeypatch, tmp_path):
        monkeypatch.setattr(version, "_NOTES", tmp_path / "versions.json")
        monkeypatch.setattr(sys, "dont_write_bytecode", False)
        module, read = "validation.analysis.seeding", []

        def asked():
            version._noted_or_read_version.cache_clear()
            return code_version(module)

        found = asked()
        source_files = version.source_files
        monkeypatch.setattr(
            version, "source_files", lambda *names: read.append(names) or source_files(*names)
        )
        assert asked() == found
        assert read == []  # as it was noted
        monkeypatch.setattr(version, "_state_of_files", lambda: "another")
        assert asked() == found
        assert read == [(module,)]  # some file is another: all are read again
        (tmp_path / "versions.json").write_text("[1, 2")  # cut off
        assert asked() == found
        monkeypatch.setattr(version, "_NOTES", tmp_path / "no" / "versions.json")
        assert asked() == found  # where nobody may write
        version._noted_or_read_version.cache_clear()
