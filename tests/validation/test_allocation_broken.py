"""`check_strategy` on strategies that break one promise each: it names the promise and the case."""

from functools import partial

import numpy as np
import pytest

from qmodels.errors import ModelError
from validation.allocation import (
    MC,
    SBT,
    AbstractStrategy,
    MCElongated,
    Random,
    Request,
    check_strategy,
)


class Broken(AbstractStrategy):
    """MC, whose answers the broken ones spoil."""

    name = "broken"

    def choose(self, mesh, request):
        nodes = MC().choose(mesh, request)
        return nodes if nodes is None else self.spoil(nodes, mesh, request)

    def spoil(self, nodes, mesh, request):
        return nodes


class GivesABusyNode(Broken):
    def spoil(self, nodes, mesh, request):
        held = [int(given[0]) for given in mesh.jobs.values()][:1]
        return np.sort([*held, *nodes[len(held) :]])


class GivesAPart(Broken):
    def choose(self, mesh, request):
        some = 0 < mesh.free < request.size <= mesh.nodes
        return super().choose(mesh, Request(mesh.free) if some else request)


class TakesTheNodes(Broken):
    def spoil(self, nodes, mesh, request):
        mesh.occupy(object(), nodes)
        return nodes


class ShufflesTheJobs(Broken):
    def spoil(self, nodes, mesh, request):
        if len(mesh.jobs) > 1:
            job = next(iter(mesh.jobs))
            mesh.occupy(job, mesh.release(job))
        return nodes


class ChangesTheRequest(Broken):
    def spoil(self, nodes, mesh, request):
        object.__setattr__(request, "size", 1)
        return nodes


class Remembers(Broken):
    calls = 0

    def choose(self, mesh, request):
        self.calls += 1
        return (MCElongated() if self.calls % 7 == 0 else MC()).choose(mesh, request)


class RefusesWithRoom(Broken):
    def choose(self, mesh, request):
        return None if request.size == 3 else super().choose(mesh, request)


class Unsorted(Broken):
    def spoil(self, nodes, mesh, request):
        return nodes[::-1]


class FloatNodes(Broken):
    def spoil(self, nodes, mesh, request):
        return nodes.astype(float)


class AMask(Broken):
    def spoil(self, nodes, mesh, request):
        return np.isin(np.arange(mesh.nodes), nodes)


class Ragged(Broken):
    def spoil(self, nodes, mesh, request):
        return [[0], [0, 1]]


class ANumber(Broken):
    def spoil(self, nodes, mesh, request):
        return 0


class Nothing(Broken):
    def spoil(self, nodes, mesh, request):
        return []


class Outside(Broken):
    def spoil(self, nodes, mesh, request):
        return np.append(nodes[:-1], mesh.nodes)


class Twice(Broken):
    def spoil(self, nodes, mesh, request):
        return np.sort(np.append(nodes[:-1], nodes[0])) if request.size > 1 else nodes


class TooMany(Broken):
    def choose(self, mesh, request):
        return super().choose(mesh, Request(min(request.size + 1, max(mesh.free, request.size))))


class Raises(Broken):
    def choose(self, mesh, request):
        return [][request.size] if mesh.jobs else super().choose(mesh, request)


class NeverNone(Broken):
    def choose(self, mesh, request):
        every = request.size > mesh.nodes
        return np.arange(mesh.nodes) if every else super().choose(mesh, request)


class RaisesForTheImpossible(Broken):
    def choose(self, mesh, request):
        assert request.size <= mesh.nodes, "too large"
        return super().choose(mesh, request)


class Choosy(Broken):
    def choose(self, mesh, request):
        raise ModelError("no mesh is good enough")


class Impossible(Broken):
    def choose(self, mesh, request):
        return 1 / 0


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("broken", "promise", "sentence"),
    [
        (GivesABusyNode, "free nodes", "gave node 0, which is busy"),
        (GivesAPart, "amount", "53 nodes of 8 x 8, 31 free: gave 31; give all of them or None"),
        (TakesTheNodes, "pure", "1 nodes of 1 x 1, 1 free: the mesh is changed"),
        (ShufflesTheJobs, "pure", "the mesh is changed"),
        (ChangesTheRequest, "pure", "the request is changed"),
        (Remembers, "repeatable", "answers differently; keep no state"),
        (RefusesWithRoom, "refusal", "refused, which kind 'bounded' may and 'exact' may not"),
        (Unsorted, "free nodes", "not in ascending order; sort them"),
        (FloatNodes, "free nodes", "no flat list of integers"),
        (AMask, "free nodes", "a mask; return its np.flatnonzero"),
        (Ragged, "free nodes", "gave [[0], [0, 1]], no flat list of nodes"),
        (ANumber, "free nodes", "gave 0, no flat list of integers"),
        (Nothing, "free nodes", "no nodes; refuse with None"),
        (Outside, "free nodes", "gave node 1; they are numbered from 0 to 0"),
        (Twice, "free nodes", "gave node 0 2 times"),
        (TooMany, "amount", "1 nodes of 4 x 4, 16 free: gave 2"),
        (Raises, "defined", "raised IndexError (list index out of range); answer with nodes or"),
        (NeverNone, "impossible", "2 nodes of 1 x 1: gave array([0]), not None"),
        (RaisesForTheImpossible, "impossible", "2 nodes of 1 x 1: raised AssertionError (too la"),
        (Choosy, "defined", "refuses every mesh"),
        (Impossible, "defined", "1 node of 1 x 1, all free: raised ZeroDivisionError"),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_the_contract_names_the_one_promise_that_a_strategy_breaks(broken, promise, sentence):
    check = check_strategy(broken, operations=60)
    assert not check.passed
    assert list(check.failures) == [promise]
    assert sentence in check.failures[promise]
    assert f"          {check.failures[promise]}" in check.table()
    frame = check.to_frame()
    assert frame.promise[~frame.kept].tolist() == [promise]


def test_the_contract_notices_an_answer_that_depends_on_how_many_were_made():
    made = iter(range(10**6))

    class Drifts(Broken):
        def __init__(self):
            self.strategy = (MC(), MCElongated())[next(made) % 2]

        def choose(self, mesh, request):
            return self.strategy.choose(mesh, request)

    assert "repeatable" in check_strategy(Drifts, operations=60).failures


@pytest.mark.thorough
def test_a_strategy_that_draws_answers_as_the_generator_of_fresh_says():
    class Hidden(Random):
        """Draws from a generator that `fresh` does not set."""

        seeds = iter(range(10**6))

        def fresh(self, rng):
            return Random(rng=np.random.default_rng(next(self.seeds)))

    assert "repeatable" in check_strategy(Hidden, operations=60).failures
    assert check_strategy(Random, operations=60).passed


class BoxesOfOne(AbstractStrategy):
    """Contiguous for one node, otherwise any nodes in a row."""

    name, kind = "boxes", "contiguous"

    def choose(self, mesh, request):
        free = np.flatnonzero(~mesh.busy)
        return free[: request.size] if request.size <= free.size else None


@pytest.mark.thorough
def test_a_contiguous_strategy_gives_one_box():
    found = check_strategy(BoxesOfOne, operations=60).failures
    assert list(found) == ["amount"]
    assert "in a box of" in found["amount"]


class ByRowsAndColumns(MC):
    name, kind = "rows and columns", "contiguous"

    def choose(self, mesh, request):
        if request.shape is not None and mesh.depth == 1:
            rows, columns = request.shape
            assert rows <= mesh.rows
            assert columns <= mesh.columns
        return super().choose(mesh, request)


def test_a_shape_on_a_flat_mesh_is_asked_for_by_rows_and_columns():
    """As users ask for one there; a strategy that takes the two apart keeps the contract."""
    assert "defined" not in check_strategy(ByRowsAndColumns, operations=20).failures


class Bounded(Broken):
    kind = "bounded"

    def choose(self, mesh, request):
        return None if request.size > mesh.nodes - 1 else super().choose(mesh, request)


def test_a_bounded_strategy_may_refuse_unless_the_mesh_is_empty():
    found = check_strategy(Bounded, operations=60).failures
    assert list(found) == ["refusal"]
    assert "refused on the empty mesh" in found["refusal"]


@pytest.mark.thorough
def test_pages_may_give_more_but_never_less():
    class Less(Broken):
        kind = "pages"

        def spoil(self, nodes, mesh, request):
            return nodes[: (request.size + 1) // 2]

    class More(Broken):
        kind = "pages"

        def choose(self, mesh, request):
            more = Request(min(request.size + 1, max(mesh.free, request.size)))
            return super().choose(mesh, more)

    assert list(check_strategy(Less, operations=60).failures) == ["amount"]
    assert check_strategy(More, operations=60).passed


class NoName(AbstractStrategy):
    def choose(self, mesh, request):
        return None


class OfNoKind(Broken):
    kind = "exakt"


class Unmade(Broken):
    def __init__(self):
        raise RuntimeError("no licence")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (NoName, "lacks a name"),
        (OfNoKind, "kind of 'broken' must be one of exact, bounded"),
        (Unmade, r"cannot be made: raised RuntimeError \(no licence\)"),
        (AbstractStrategy, "without arguments"),
        (partial(SBT, alpha=-1), "cannot be made"),
    ],
)
def test_a_class_that_makes_no_strategy_is_an_error_that_says_why(wrong, message):
    with pytest.raises(ModelError, match=message):
        check_strategy(wrong)


@pytest.mark.parametrize("wrong", [3, "MC", lambda: 3, lambda x: MC()])
def test_only_strategies_are_checked(wrong):
    with pytest.raises(ModelError):
        check_strategy(wrong)
