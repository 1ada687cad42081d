"""What every public object shows of itself: short text, a table, JSON, a figure, a pickle."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import pickle
import re
import time
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from phasefit import MAP, PhaseType
from phasefit.plotting import columns
from phasefit.records import Drawing, Law, Record, Result, plain
from qmodels import Burst, ModelError, Phase, Program, WorkingSet, Workload, WorkloadMix
from qmodels import speedup_surface as surface_of
from qmodels.programs import RandomLaw
from tests import objects

ROOT = Path(__file__).resolve().parents[1]
OURS = ("phasefit", "qmodels", "validation")

#: Those of longer runs, which tests of their own make.
LONGER = {
    "validation.study.run.Study",
    "validation.study.sweep.Sweep",
    "validation.study.sweep.SweepPlan",
    "validation.study.sweep.Forecast",
    "validation.study.trial.MeshTrial",
    "validation.trial.loss_run.LossRun",
    "validation.trial.replications.Replication",
    "validation.trial.replications.TrialPoint",
    "validation.trial.scenario.Cell",
    "validation.trial.scenario.JobPlan",
    "validation.allocation.contract.StrategyCheck",
    "validation.cluster.contract.BalancerCheck",
    "validation.cluster.history.ClusterRun",
    "validation.cluster.trace.ClusterTrace",
    "validation.cluster.open_network.OpenPrediction",
    "validation.mesh.results.ChannelUse",
    "validation.jobs.stream.JobStream",
    "validation.cluster.synthetic.ApplicationTraces",
    "validation.jobs.boxes.BoxStreams",
    "validation.jobs.logs.LogStreams",
    "validation.jobs.lublin.LublinStreams",
    "validation.jobs.synthetic.BatchStreams",
    "validation.jobs.synthetic.SurrogateStreams",
    "validation.mesh.fluid.FluidRun",
    "validation.mesh.traffic.Messages",
    "qmodels.recording.timeline.Recording",
    "qmodels.io.traced_runs.TracedRuns",
}
#: Rules that have a name and no numbers, and what only the project's own code handles.
RULES = (
    "validation.allocation.",
    "validation.cluster.balancing.",
    "validation.sweeps.",
    "validation.machine.traffic.",
    "qmodels.io.subjects.",
    "validation.study.trial.Mesh",
    "validation.study.what_if.",
    "validation.jobs.disciplines.",
    "qmodels.io.job_logs.",
    "qmodels.io.trace_folders.",
    "qmodels.pages.",
    "phasefit.observations.Sample",
    "qmodels.programs.amdahl.Form",
)


def public_classes() -> list[type]:
    """Classes that the reference lists, by its own file."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    found: dict[type, None] = {}
    for name in re.findall(r"^   ((?:phasefit|qmodels|validation)[\w.]*)$", page, re.MULTILINE):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:  # an object of a module
            owner, _, own = name.rpartition(".")
            found[getattr(importlib.import_module(owner), own)] = None
            continue
        listed = getattr(module, "__all__", None)
        for each in listed or vars(module):
            thing = getattr(module, each)
            own = listed or getattr(thing, "__module__", None) == name
            if own and inspect.isclass(thing) and thing.__module__.startswith(OURS):
                found[thing] = None
    return [one for one in found if isinstance(one, type) and not one.__name__.startswith("_")]


def told(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> list[Any]:
    return list(objects.every(tmp_path_factory.mktemp("objects")))


def test_every_public_class_that_holds_numbers_shows_itself():
    held = [one for one in public_classes() if dataclasses.is_dataclass(one)]
    plainer = [told(one) for one in held if not issubclass(one, Record)]
    assert len(held) > 120
    assert [name for name in plainer if not name.startswith(RULES)] == []


def test_mean_and_its_like_are_attributes_everywhere():
    called = [
        f"{told(one)}.{name}"
        for one in public_classes()
        for name in ("mean", "median", "std", "scv", "mean_wait", "mean_response")
        if inspect.isfunction(getattr(one, name, None))
    ]
    assert called == []


@pytest.mark.thorough
def test_every_public_record_is_tried_here(samples):
    made = {type(each) for each in samples}
    public = {one for one in public_classes() if issubclass(one, Record)} - {Record, Result, Law}
    missing = {told(one) for one in public - made if not inspect.isabstract(one)}
    assert missing - LONGER == set()
    assert len(made & public) >= 90


@pytest.mark.thorough
def test_no_two_classes_share_a_schema(samples):
    kinds: list[type[Record]] = [Record]
    for kind in kinds:
        kinds += [k for k in kind.__subclasses__() if k.__module__.startswith(OURS)]
    names = [kind.schema for kind in set(kinds[1:])]
    assert sorted(names) == sorted(set(names))
    assert all(re.fullmatch(r"(phasefit|qmodels|validation)\.[a-z0-9-]+", name) for name in names)


@pytest.mark.thorough
def test_repr_is_one_short_line_that_begins_with_the_class(samples):
    texts = [(type(each).__name__, repr(each)) for each in samples]
    assert [t for _, t in texts if len(t) > 200 or not t.isprintable()] == []
    assert [t for name, t in texts if not t.startswith((name, f"<{name}", "<what if"))] == []


class _Tags(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


ALLOWED = {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}


def test_html_is_a_small_table_that_any_content_policy_lets_through(samples):
    for each in samples:
        page = _Tags()
        page.feed(html := each._repr_html_())
        assert page.open == [], type(each)
        assert page.tags <= ALLOWED, type(each)
        assert page.attributes <= {"scope"}, type(each)
        assert "table" in page.tags
        assert len(html) < 20_000, type(each)


@pytest.mark.thorough
def test_to_dict_is_what_json_reads_back_with_a_schema_and_a_version(samples):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    for each in samples:
        read = json.loads(each.to_json(), parse_constant=refuse)
        assert read == each.to_dict(), type(each)
        assert list(read)[:2] == ["schema", "version"]
        assert (read["schema"], read["version"]) == (type(each).schema, 1)
        assert len(read) > 2, type(each)


def test_to_frame_is_a_table_with_rows_and_named_columns(samples):
    for each in samples:
        frame = each.to_frame()
        assert isinstance(frame, pd.DataFrame), type(each)
        assert len(frame) >= 1, type(each)
        assert frame.columns.is_unique, type(each)


def test_every_result_draws_itself_on_axes_given_or_new(samples):
    drawn = [each for each in samples if isinstance(each, Result)]
    assert len(drawn) > 50
    for each in drawn:
        ax = Figure().add_subplot()
        assert each.plot(ax) is ax, type(each)
        assert ax.has_data() or ax.get_title(), type(each)
    assert isinstance(drawn[0].plot(), Axes)
    with pytest.raises(ModelError, match="must be matplotlib Axes, got str"):
        drawn[0].plot("red")


def test_every_object_survives_pickling(samples):
    for each in samples:
        again = pickle.loads(pickle.dumps(each))
        assert type(again) is type(each)
        assert again.to_json() == each.to_json(), type(each)


# Outside of what records usually hold


@dataclass(frozen=True)
class Odd(Result):
    """What a class of the user's might hold."""

    drawing = Drawing("name", "value", half_width="width")

    value: Any
    name: str = "<script>alert(1)</script>\x1b[2J"


def test_numbers_that_json_cannot_hold_are_told_by_null_and_text():
    value = {"a": np.nan, "b": [np.inf, -np.inf], 3: np.float32(0.5), (1, 2): np.int64(2**60)}
    assert plain(value) == {"a": None, "b": ["Infinity", "-Infinity"], "3": 0.5, "1,2": 2**60}
    assert float(plain(np.inf)) == np.inf
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    assert plain(masked) == [None, 2.0]
    assert plain(np.array([1.0, np.nan])) == [1.0, None]
    assert plain(pd.Series([pd.NA, 1], dtype="Int64")) == {"0": None, "1": 1}
    assert plain(pd.DataFrame({"x": [pd.NaT]})) == [{"x": None}]
    assert plain({3, 1}) == [1, 3]
    assert plain(len) == "builtins.len"


def test_names_cannot_break_out_of_a_table_or_a_line():
    odd = Odd([1, 2])
    assert "<script>" not in odd._repr_html_()
    assert Odd(1, "a\u202eb\0c")._repr_html_().count("a b c") == 2  # the heading and the cell
    assert "\x1b" not in repr(odd)
    assert json.loads(odd.to_json())["name"] == odd.name


def test_a_large_array_is_told_by_its_size_and_a_long_list_by_its_first():
    assert "array(1000 x 1000)" in repr(Odd(np.zeros((1000, 1000))))
    assert "1,000,000 in all" in repr(Odd(list(range(1_000_000))))


def test_a_figure_leaves_out_widths_that_are_not_known():
    table = pd.DataFrame({"name": ["$a^", "b"], "value": [1.0, 2.0], "width": [np.inf, 0.1]})
    ax = columns(table, Odd.drawing)
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["$a^", "b"]


def test_seeded_bug_two_results_of_one_name_would_be_noticed():
    class Prediction(Record):
        """Of another package."""

    assert Prediction.schema == "tests.prediction" != "qmodels.prediction"


# Programs by value


def program(seconds: float = 4.0, law: Any = "d") -> Program:
    phases = [
        Phase(Burst(seconds, law=law), [1.0, 2.0]),
        Phase(1.0, PhaseType.erlang(phases=2, mean=3.0)),
    ]
    return Program([WorkingSet(3, phases)], name="solver", phase_count=[0.5, 0.5])


def test_programs_are_equal_where_all_of_their_parts_are():
    one, two = program(), program()
    assert one == two
    assert hash(one) == hash(two)
    assert one != program(5.0)
    assert one != program(law="min(d, p/4)")
    assert WorkloadMix([one, two]) == WorkloadMix([two, one])
    assert WorkloadMix([one, two], [1, 2]) != WorkloadMix([one, two], [2, 1])
    assert Workload(one) == Workload(two) != Workload(program(5.0))
    assert {one: 1}[two] == 1
    assert one != "solver"


def test_laws_of_scipy_are_compared_by_their_numbers_and_functions_by_identity():
    from scipy.stats import gamma, rv_discrete

    assert Phase(gamma(2.0, scale=3.0), 1.0) == Phase(gamma(2.0, scale=3.0), 1.0)
    assert Phase(gamma(2.0, scale=3.0), 1.0) != Phase(gamma(2.0, scale=4.0), 1.0)
    laws = [rv_discrete(values=([1, 2], [share, 1 - share]))() for share in (0.5, 0.4)]
    assert Phase(laws[0], 1.0) != Phase(laws[1], 1.0)
    assert Phase(laws[0], 1.0) == Phase(laws[0], 1.0)

    def law(p, d):
        return p + 0.0 * d

    assert program(law=law) == program(law=law)
    assert program(law=law) != program(law=lambda p, d: p + 0.0 * d)
    half = RandomLaw("p/(1+C*(p-1))", [0.0, 1.0])
    assert program(law=half) == program(law=RandomLaw("p/(1+C*(p-1))", [0.0, 1.0]))


def test_a_program_from_another_process_is_equal_and_as_fast_to_ask():
    one = program()
    hash(one), one.sums
    again = pickle.loads(pickle.dumps(one))
    assert set(vars(again)) == {f.name for f in dataclasses.fields(one)}
    assert again == one
    assert hash(again) == hash(one)
    assert float(again.mean_time(4, 2)) == float(one.mean_time(4, 2))
    sample = again.phases[0].cpu.seconds
    with pytest.raises(ValueError, match="read-only"):
        sample[0] = 9.0


@pytest.mark.thorough
def test_a_program_of_many_phases_is_told_and_compared_in_no_time():
    many = Program([Phase(1.0 + k, 2.0) for k in range(2000)])
    other = Program([Phase(1.0 + k, 2.0) for k in range(2000)])
    began = time.process_time()
    assert many == other
    assert len(repr(many)) < 100
    for _ in range(1000):
        hash(many)
    assert time.process_time() - began < 2.0


def test_repr_of_a_program_that_has_to_measure_measures_nothing(monkeypatch):
    from validation.trial.bursts import MeasuredProgram

    def measure(self, p, d):
        raise AssertionError("that takes a simulation")

    monkeypatch.setattr(MeasuredProgram, "phase_times", measure)
    monkeypatch.setattr(MeasuredProgram, "_totals", measure)
    assert repr(MeasuredProgram(None)).startswith("MeasuredProgram(cell=None, links='finite'")


def test_equal_programs_share_what_was_computed_for_one_of_them():
    from qmodels.policies.base import _running_jobs

    before = _running_jobs.cache_info().hits
    from qmodels import SpaceSharing, capacity

    policy = SpaceSharing(2, 1)
    rates = {capacity(policy, objects.MACHINE, Workload(program())) for _ in range(2)}
    assert len(rates) == 1
    assert _running_jobs.cache_info().hits > before


# The surface


def test_a_surface_is_asked_by_processors_and_disks():
    surface = surface_of(objects.PROGRAM, [1, 2, 4, 8], [1, 2])
    assert surface[4, 2] == surface.speedup[2, 1]
    assert surface[1, 1] == pytest.approx(1.0, rel=1e-15)
    assert np.array_equal(surface[:, 2], surface.speedup[:, 1])
    assert np.array_equal(surface[[2, 8], :], surface.speedup[[1, 3], :])
    assert surface[np.array([8, 2]), 1].tolist() == surface.speedup[[3, 1], 0].tolist()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "write surface"),
        ((3, 1), "3 processors are not on the grid; the nearest are 2 and 4"),
        ((99, 1), "nearest are 4 and 8"),
        ((1, 1, 1), "write surface"),
        (("a", 1), "processors"),
        ((slice(1, 4), 1), "write :"),
        ((1, np.nan), "disks"),
        (([[1]], 1), "a row of numbers"),
    ],
)
def test_what_is_not_on_the_grid_is_refused_by_name(key, message):
    surface = surface_of(objects.PROGRAM, [1, 2, 4, 8], [1, 2])
    with pytest.raises(ModelError, match=message):
        surface[key]


def test_a_surface_becomes_a_data_set_of_xarray_or_says_what_to_install():
    surface = surface_of(objects.PROGRAM, [1, 2, 4], [1, 2])
    try:
        import xarray  # noqa: F401
    except ImportError:
        with pytest.raises(ModelError, match=r"pip install '\.\[xarray\]'"):
            surface.to_xarray()
        return
    data = surface.to_xarray()
    assert float(data.speedup.sel(processors=4, disks=2)) == surface[4, 2]
    assert data.sizes == {"processors": 3, "disks": 2}


# Laws in JSON


@pytest.mark.parametrize("law", [objects.TWO, PhaseType([0.25, 0.25], [[-1, 0.5], [0, -2.0]])])
def test_a_law_is_read_back_digit_for_digit_from_json(law):
    for text in (law.to_json(), law.to("json"), law.to_json(indent=2)):
        again = PhaseType.from_json(text)
        assert np.array_equal(again.T, law.T)
        assert again.atom == law.atom
    with pytest.raises(ModelError, match="version 2 is not known"):
        PhaseType.from_json(json.dumps(law.to_dict() | {"version": 2}))


def test_an_arrival_process_tells_its_rates():
    process = MAP.from_phase_type(objects.TWO)
    known = json.loads(process.to("json"))
    assert known["schema"] == "phasefit.map"
    assert np.array_equal(known["D0"], process.D0)
