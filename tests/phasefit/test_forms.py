"""A law written for other tools and read back: by a reader of ours, and by the tools installed."""

import importlib
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from phasefit import MAP, ModelError, PhaseType
from phasefit.forms import FORMS, PROCESS_FORMS

GENERAL = PhaseType([0.25, 0.5, 0.25], [[-3.0, 1.0, 0.5], [1e-8, -1e-7, 0.0], [0.0, 2.0, -1e6]])
LAWS = {
    "exponential": PhaseType.exponential(mean=1e-9),
    "erlang": PhaseType.erlang(phases=3, mean=6.0),
    "hyper": PhaseType.hyperexponential(weights=[0.9, 0.1], means=[1.0, 30.0]),
    "general": GENERAL,
    "mixed": PhaseType([0.25, 0.5, 0.25], [[-3.0, 1.0, 0.5], [0.1, -0.4, 0.0], [0.0, 2.0, -6.0]]),
    "rare": PhaseType.coxian(rates=[1e-12, 5.0], continue_probabilities=[1 / 3]),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_json_gives_every_digit_back(law):
    again = PhaseType.from_json(law.to("json"))
    assert np.array_equal(again.alpha, law.alpha)
    assert np.array_equal(again.exit, law.exit)
    np.testing.assert_array_equal(again.jumps, law.jumps)
    assert again.mean == pytest.approx(law.mean, rel=1e-15)


def test_json_is_the_same_text_after_any_number_of_readings(rng):
    for atom in [0.0, 0.3] * 20:
        jumps = rng.random((3, 3))
        T = jumps - np.diag(jumps.sum(axis=1) + jumps.diagonal() + rng.random(3))
        text = PhaseType(rng.dirichlet(np.ones(3)) * (1.0 - atom), T).to("json")
        assert PhaseType.from_json(text).to("json") == text


def test_json_keeps_an_atom_and_rates_that_no_sum_shows():
    law = PhaseType.from_rates([0.25], [[0.0]], [2.0], atom=0.75)
    assert PhaseType.from_json(law.to("json")).atom == 0.75
    rare = PhaseType.from_rates([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [0.0, 1e-20])
    assert PhaseType.from_json(rare.to("json")).exit[1] == 1e-20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON"),
        ("[1]", "object with alpha and T"),
        ('{"alpha": [1]}', "lacks T"),
        ('{"schema": "phasefit.phase-type/1", "alpha": [1], "T": [[-1]]}', "not known"),
        ('{"alpha": [1], "T": [["x"]]}', "T"),
        ('{"alpha": [1], "T": [[-1]], "exit": null}', "exits"),
        ('{"alpha": [1], "T": [[-1], [2, 3]], "exit": [1]}', "T must be"),
        ('{"alpha": [1], "T": [[-1]], "exit": [1], "atom": 0.5}', "atom"),
        ('{"alpha": [NaN], "T": [[-1]]}', "alpha"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_what_is_no_law_is_refused_in_words(text, message):
    with pytest.raises(ModelError, match=message):
        PhaseType.from_json(text)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_python_and_matlab_hold_the_very_floats(law):
    names = {"matrix": np.array, "PH": lambda alpha, T: (np.array(alpha), np.array(T))}
    code = re.sub(r"^(import|from) .*$", "", law.to("line"), flags=re.M)
    scope = dict(names)
    exec(code, scope)
    assert np.array_equal(scope["law"][0], law.alpha)
    assert np.array_equal(scope["law"][1], law.T)
    scope = {"np": type("np", (), {"matrix": staticmethod(np.array)})}
    exec(law.to("butools").replace("import numpy as np", ""), scope)
    assert np.array_equal(scope["A"], law.T)
    pair = re.search(r"law = \{(\[.*\]), (\[.*\])\};", law.to("matlab"))
    without, event = (
        np.array([[float(x) for x in row.split(",")] for row in part.strip("[]").split(";")])
        for part in pair.groups()
    )
    assert np.array_equal(without, law.T)
    assert np.array_equal(event, np.outer(law.exit, law.alpha))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_prism_module_has_the_rates_of_the_law_repeated(law):
    text, order = law.to("prism"), law.order
    assert f"s : [0..{order - 1}] init" in text
    rates = {"": np.zeros((order, order)), "event": np.zeros((order, order))}
    for label, state, ways in re.findall(r"\[(\w*)\] s=(\d+) -> (.*);", text):
        for way in ways.split(" + "):
            number, target = re.fullmatch(r"(\S+) : \(s'=(\d+)\)", way).groups()
            rates[label][int(state), int(target)] = float(number)
    assert np.array_equal(rates[""], law.jumps)
    assert np.array_equal(rates["event"], np.outer(law.exit, law.alpha))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_jmt_strategy_is_the_law(law):
    strategy = ElementTree.fromstring(law.to("jmt"))
    kind, made = strategy
    assert np.isclose(of_jmt(kind.get("name"), made).mean, law.mean, rtol=1e-15, atol=0)
    assert np.isclose(of_jmt(kind.get("name"), made).scv, law.scv, rtol=1e-14, atol=0)
    assert kind.get("name") == {
        "exponential": "Exponential",
        "erlang": "Erlang",
        "hyper": "Hyperexponential",
    }.get(next(name for name in LAWS if LAWS[name] is law), "Phase-Type")


def of_jmt(name, made):
    """The law of a strategy, by JMT's definitions of its parameters."""
    known = {
        part.get("name"): float(part.find("value").text) for part in made if part.find("value") is not None
    }
    if name == "Exponential":
        return PhaseType.exponential(mean=1 / known["lambda"])
    if name == "Erlang":
        return PhaseType.erlang(phases=int(known["r"]), mean=known["r"] / known["alpha"])
    if name == "Hyperexponential":
        weights = [known["p"], 1 - known["p"]]
        means = [1 / known["lambda1"], 1 / known["lambda2"]]
        return PhaseType.hyperexponential(weights=weights, means=means)
    tables = {
        part.get("name"): [[float(v.text) for v in vector.iter("value")] for vector in part] for part in made
    }
    return PhaseType(tables["alpha"][0], tables["T"])


def test_an_atom_is_refused_where_events_cannot_hold_it():
    law = PhaseType([0.5], [[-1.0]])
    for form in ("line", "matlab", "jmt", "prism"):
        with pytest.raises(ModelError, match=r"0\.5 of the law lies at zero"):
            law.to(form)
    assert "0.5" in law.to("butools")
    with pytest.raises(ModelError, match="did you mean 'butools'"):
        law.to("butool")
    assert set(FORMS) == {"json", "butools", "line", "matlab", "jmt", "prism"}


TIDES = MAP.modulated([[-0.1, 0.1], [0.3, -0.3]], rates=[1.8, 0.2])


def test_an_arrival_process_is_written_in_each_form_that_can_hold_it():
    assert set(PROCESS_FORMS) == set(FORMS) - {"butools"}
    given = json.loads(TIDES.to("json"))
    assert MAP(given["D0"], given["D1"]) == TIDES
    code = re.sub(r"^from .*$", "", TIDES.to("line"), flags=re.M)
    scope = {"MAP": MAP}
    exec(code, scope)
    assert scope["law"] == TIDES
    kind, made = ElementTree.fromstring(TIDES.to("jmt"))
    assert (kind.get("name"), made.get("classPath")) == ("Burst (MAP)", "jmt.engine.random.MAPPar")
    tables = {
        part.get("name"): [[float(v.text) for v in vector.iter("value")] for vector in part] for part in made
    }
    assert MAP(tables["D0"], tables["D1"]) == TIDES
    assert "[event] s=0 -> 1.8 : (s'=0);" in TIDES.to("prism")
    assert "[] s=1 -> 0.3 : (s'=0);" in TIDES.to("prism")


def installed(name):
    """A tool that is not one of ours, where it happens to be installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_line_reads_the_law(law):
    line = installed("line_solver")
    scope = {}
    exec(law.to("line"), scope)
    assert isinstance(scope["law"], line.PH)
    assert scope["law"].get_mean() == pytest.approx(law.mean, rel=1e-6)
    assert scope["law"].get_scv() == pytest.approx(law.scv, rel=1e-6)


@pytest.mark.parametrize("name", ["erlang", "hyper", "mixed"])
def test_storm_finds_one_event_in_a_mean_time(name, tmp_path):
    storm, law = installed("stormpy"), LAWS[name]
    (tmp_path / "law.prism").write_text(law.to("prism"))
    program = storm.parse_prism_program(str(tmp_path / "law.prism"), prism_compatibility=True)
    wanted = storm.parse_properties('R{"events"}=? [LRA]', program)
    model = storm.build_model(program, wanted)
    found = storm.model_checking(model, wanted[0])
    assert found.get_value(next(iter(model.initial_states))) == pytest.approx(1 / law.mean, rel=2e-6)
