"""One registry for policies, strategies, sources of jobs and queue disciplines."""

import abc
import sys
from types import ModuleType

import pytest

from qmodels.errors import ModelError
from qmodels.policies import POLICIES
from qmodels.registry import Registry
from validation.allocation import STRATEGIES
from validation.jobs import STREAMS
from validation.jobs.disciplines import QUEUE_DISCIPLINES, find_discipline

ALL = [POLICIES, STRATEGIES, STREAMS, QUEUE_DISCIPLINES]
EVERY = pytest.mark.parametrize("registry", ALL, ids=lambda each: each.what)


class Shape(abc.ABC):
    name = "shape"

    @abc.abstractmethod
    def sides(self):
        """How many."""


class Square(Shape):
    name = "Square"

    def sides(self):
        return 4


class Polygon(Square):
    name = "polygon"

    def __init__(self, sides):
        self.count = sides


@pytest.fixture
def shapes():
    found = Registry(Shape, "shape")
    found.register(Square)
    return found


@EVERY
def test_every_entry_is_found_by_its_name_in_any_case_and_by_its_module(registry):
    assert len(registry) >= 3
    for name, entry in registry.items():
        for text in (name, name.upper(), name.lower(), f"{entry.__module__}:{entry.__qualname__}"):
            assert registry.find(text) is entry


@EVERY
@pytest.mark.parametrize("odd", [None, 3, "", "xyzzy", "\x1b[31m", "x" * 10**6, b"SP", ["SP"]])
def test_what_is_no_name_is_refused_with_the_names_there_are(registry, odd):
    with pytest.raises(ModelError) as caught:
        registry.find(odd)
    said = str(caught.value)
    assert all(name in said for name in registry)
    assert len(said) < 1000
    assert "\x1b" not in said


@EVERY
@pytest.mark.parametrize("odd", ["nowhere:At", "math:pi", "json:JSONDecoder", ":", "json:", "a:b:c"])
def test_a_class_that_is_no_such_thing_is_refused_by_its_name(registry, odd):
    with pytest.raises(ModelError, match=r"cannot be loaded|is no subclass of Abstract"):
        registry.find(odd)


@EVERY
def test_a_second_class_of_a_name_is_refused(registry):
    name, entry = next(iter(registry.items()))
    impostor = type("Impostor", (entry,), {"name": name, "__module__": __name__})
    with pytest.raises(ModelError, match=f"there is a {registry.what} '{name}' already"):
        registry.register(impostor)
    assert registry[name] is entry
    before = list(registry)
    assert registry.register(entry) is entry  # the same class again changes nothing
    assert list(registry) == before


@EVERY
def test_a_class_without_its_methods_or_a_name_is_refused(registry):
    unfinished = type("Unfinished", (registry.base,), {"name": "unfinished"})
    with pytest.raises(ModelError, match=f"{registry.what} Unfinished lacks [a-z]"):
        registry.register(unfinished)
    entry = next(iter(registry.values()))
    nameless = type("Nameless", (entry,), {"name": None})
    for odd, said in ((nameless, "lacks name"), (int, "no subclass"), ("SP", "no subclass")):
        with pytest.raises(ModelError, match=said):
            registry.register(odd)
    assert "unfinished" not in registry


@EVERY
def test_it_is_a_dictionary(registry, monkeypatch):
    name, entry = next(iter(registry.items()))
    monkeypatch.setitem(registry, "another", entry)
    assert "another" in registry
    assert registry.find("ANOTHER") is entry
    assert list(registry)[-1] == "another"
    assert dict(registry)[name] is entry
    assert isinstance(registry, dict)


def test_what_needs_arguments_is_not_made_without(shapes):
    shapes.register(Polygon)
    assert shapes.made("square").sides() == 4
    with pytest.raises(ModelError, match="shape 'polygon' cannot be made without arguments"):
        shapes.made("polygon")


def test_two_names_that_differ_in_case_are_both_found(shapes):
    small = type("Small", (Square,), {"name": "square"})
    shapes.register(small)
    assert shapes.find("square") is small
    assert shapes.find("Square") is Square


def test_entries_are_kept_in_the_order_asked_for():
    shapes = Registry(Shape, "shape", order=lambda entry: entry.rank)
    for rank in (3, 1, 2):
        shapes.register(type(f"Of{rank}", (Square,), {"name": f"of{rank}", "rank": rank}))
    assert list(shapes) == ["of1", "of2", "of3"]


def test_a_module_that_stops_the_program_on_import_is_an_error(monkeypatch, tmp_path):
    (tmp_path / "stops_at_once.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="cannot be loaded"):
        QUEUE_DISCIPLINES.find("stops_at_once:Order")


def test_a_discipline_of_ones_own_is_named_by_its_module(monkeypatch):
    fcfs = QUEUE_DISCIPLINES["FCFS"]
    module = ModuleType("orders")
    module.Mine = type("Mine", (fcfs,), {"name": "mine"})
    monkeypatch.setitem(sys.modules, "orders", module)
    found = find_discipline("orders:Mine")
    assert type(found) is module.Mine
    assert "mine" not in QUEUE_DISCIPLINES
