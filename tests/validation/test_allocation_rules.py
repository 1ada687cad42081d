"""The rules one by one on states small enough to be answered by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import allocation_states as states
from validation.allocation import (
    BT,
    DBT,
    MBS,
    MC,
    PLAS,
    SBT,
    STRATEGIES,
    DependentBT,
    Hilbert,
    IndependentBT,
    IndependentSBT,
    MCElongated,
    Paging,
    Request,
    Snake,
    dispersal,
    free_squares,
    nodes_affected,
)
from validation.allocation._kernels import gather
from validation.allocation.binary_tree import tree_order
from validation.allocation.curves import hilbert_curve
from validation.allocation.mbs import quad_tree
from validation.mesh import Mesh, Occupancy


def mesh_with(sides, busy, **options):
    mesh = Occupancy(Mesh(*sides, **options))
    if len(busy):
        mesh.occupy("others", busy)
    return mesh


def only(sides, idle):
    """A mesh with nothing free but these (row, column)."""
    nodes = {r * sides[1] + c for r, c in idle}
    return mesh_with(sides, [node for node in range(sides[0] * sides[1]) if node not in nodes])


def chosen(strategy, sides, busy, size):
    nodes = strategy.choose(mesh_with(sides, busy), size)
    return None if nodes is None else nodes.tolist()


class TestTheBook:
    def test_a_side_below_one_and_a_size_below_one_are_value_errors(self):
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="rows"):
                Mesh(wrong, 4)
            for strategy in STRATEGIES.values():
                with pytest.raises(ValueError, match="size"):
                    strategy().choose(Mesh(4, 4), wrong)

    def test_jobs_are_kept_in_order_of_allocation(self):
        mesh = Occupancy(Mesh(2, 4))
        for job, node in ((7, 3), ("b", 0), (1, 5)):
            mesh.occupy(job, [node])
        mesh.release("b")
        mesh.occupy("b", [1])
        assert list(mesh.jobs) == [7, 1, "b"]

    def test_an_id_that_runs_or_one_that_does_not_is_an_error_that_changes_nothing(self):
        mesh = mesh_with((2, 2), [1])
        for wrong in (lambda: mesh.occupy("others", [0]), lambda: mesh.release("nobody")):
            with pytest.raises(ValueError, match="job"):
                wrong()
            assert mesh.busy.tolist() == [[False, True], [False, False]]
            assert list(mesh.jobs) == ["others"]

    @pytest.mark.parametrize("side", [None, "west", "east", "north", "south"])
    def test_a_shape_means_rows_and_columns_of_the_mesh_wherever_the_io_nodes_are(self, side):
        mesh = Mesh(6, 7, io_side=side)
        for rows, columns in ((1, 4), (3, 2), (5, 1), (2, 6)):
            nodes = MC().choose(mesh, Request.of_shape(rows, columns))
            assert [len(set(part)) for part in np.divmod(nodes, 7)] == [rows, columns]

    def test_dispersal_counts_the_nodes_that_a_job_has_pages_included(self):
        mesh = Mesh(4, 4)
        nodes = Paging(s=1).choose(mesh, 5)
        assert (nodes.size, dispersal(mesh, nodes)) == (8, 0.0)


class TestPaging:
    def test_a_request_gets_whole_pages_and_waits_for_them_although_nodes_are_free(self):
        # Row-major pages of 2 x 2: the first is spoilt.
        assert chosen(Paging(s=1), (4, 4), [5], 1) == [2, 3, 6, 7]
        assert chosen(Paging(s=1), (4, 4), [5], 9) == [2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
        assert chosen(Paging(s=1), (4, 4), [5], 13) is None
        assert chosen(Paging(s=2), (4, 4), [5], 1) is None
        assert chosen(Paging(s=2), (4, 4), [], 1) == list(range(16))
        assert Paging().s == 0

    @pytest.mark.parametrize("sides", [(4, 6), (6, 4), (3, 3), (2, 2), (1, 8)])
    def test_pages_that_do_not_tile_are_a_value_error_even_for_what_is_impossible(self, sides):
        for size in (1, 1000):
            with pytest.raises(ValueError, match="do not tile"):
                Paging(s=2).choose(Mesh(*sides), size)


class TestMbs:
    @pytest.mark.thorough
    def test_initial_blocks_and_their_quarters_are_the_aligned_squares(self):
        for rows, columns in itertools.product(range(1, 26), repeat=2):
            squares = {square for square, _ in states.squares(rows, columns)}
            top = min(rows, columns).bit_length() - 1
            aligned = {
                (1 << i, r, c)
                for i in range(top + 1)
                for r in range(0, rows - (1 << i) + 1, 1 << i)
                for c in range(0, columns - (1 << i) + 1, 1 << i)
            }
            assert squares == aligned
            counts = [sum(s == 1 << i for s, _, _ in squares) for i in range(top + 1)]
            assert np.diff(quad_tree(rows, columns)).tolist() == counts

    def test_the_largest_size_may_be_wanted_more_than_three_times(self):
        nodes = chosen(MBS(), (4, 24), [], 81)
        assert nodes == sorted([r * 24 + c for r in range(4) for c in range(20)] + [20])

    def test_the_smallest_larger_block_is_split_and_its_first_child_serves(self):
        mesh = only(
            (4, 12),
            [(r, c) for r in range(4) for c in range(8)]
            + [
                (0, 10),
                (0, 11),
                (1, 10),
                (1, 11),
            ],
        )
        assert MBS().choose(mesh, 1).tolist() == [10]
        assert MBS().choose(mesh, 5).tolist() == [0, 10, 11, 22, 23]

    def test_a_block_that_is_not_there_becomes_four_of_the_next_size(self):
        # Free: two squares of 2 x 2 and six nodes; twelve are three squares.
        assert chosen(MBS(), (4, 4), [0, 15], 12) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13]

    def test_buddies_merge_but_never_above_the_initial_blocks(self):
        mesh = Occupancy(Mesh(4, 8))
        for job in range(32):
            mesh.occupy(job, MBS().choose(mesh, 1))
        for job in np.random.default_rng(1).permutation(32).tolist():
            mesh.release(job)
        assert free_squares(mesh) == 2
        assert free_squares(Mesh(8, 8)) == 1

    @pytest.mark.parametrize("sides", [(5, 7), (12, 12), (16, 22)])
    def test_base_4_digits_do_not_count_the_free_squares_of_other_meshes(self, sides):
        nodes, digits = sides[0] * sides[1], 0
        while nodes:
            nodes, digit = divmod(nodes, 4)
            digits += digit
        assert free_squares(Mesh(*sides)) > digits


class TestTrees:
    def test_columns_are_cut_first_where_they_are_no_fewer_than_the_rows(self):
        assert tree_order(2, 2).tolist() == [0, 2, 1, 3]
        assert tree_order(4, 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
        assert tree_order(2, 4).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
        assert tree_order(1, 4).tolist() == tree_order(4, 1).tolist() == [0, 1, 2, 3]

    @given(
        seed=st.integers(0, 10**6),
        sides=st.sampled_from([(4, 4), (8, 8), (2, 16), (16, 4), (1, 8), (8, 1)]),
        size=st.integers(1, 40),
        alpha=st.sampled_from([0.0, 1.0, 6.0, np.inf]),
    )
    def test_bt_sbt_and_dbt_refuse_alike_iff_no_rectangle_has_room(self, seed, sides, size, alpha):
        rng = np.random.default_rng(seed)
        busy = np.flatnonzero(rng.random(sides[0] * sides[1]) < rng.random())
        mesh, heap = mesh_with(sides, busy), states.bisection(*sides)
        free, block = ~mesh.busy.ravel(), 1
        while block < size:
            block *= 2
        room = any(free[p.ravel()].sum() >= size for p in heap if p.size == block)
        for strategy in (BT(), SBT(alpha=alpha), DBT(ratio=min(alpha, 1.0))):
            assert (strategy.choose(mesh, size) is not None) == room

    def test_equal_halves_go_left_whatever_the_tolerance(self):
        for strategy in (SBT(alpha=0.0), SBT(alpha=np.inf), DBT(ratio=0.0), DBT(ratio=1.0)):
            assert chosen(strategy, (4, 4), [], 2) == [0, 4]

    def test_the_other_half_is_tried_if_the_first_has_no_rectangle(self):
        # The left half has four free nodes, but no quarter of it has.
        assert chosen(SBT(alpha=np.inf), (4, 4), [0, 5, 8, 13], 4) == [2, 3, 6, 7]

    def test_a_request_just_above_a_power_of_two_looks_at_the_next_rectangle(self):
        assert chosen(BT(), (4, 4), [], 5) == [0, 1, 4, 8, 12]

    def test_pieces_already_placed_count_as_busy_for_the_next(self):
        assert chosen(IndependentSBT(alpha=0.0), (4, 4), [], 3) == [0, 2, 4]
        assert chosen(IndependentSBT(alpha=np.inf), (4, 4), [], 3) == [0, 1, 4]

    def test_a_piece_without_a_block_becomes_two_of_half_the_size(self):
        assert chosen(IndependentBT(), (4, 4), [0, 2, 8, 10], 4) == [1, 5, 9, 13]

    def test_pieces_go_on_breaking_down_to_single_nodes(self):
        checkers = [r * 4 + c for r in range(4) for c in range(4) if (r + c) % 2]
        assert chosen(IndependentBT(), (4, 4), checkers, 7) == [0, 2, 5, 7, 8, 10, 13]
        assert chosen(DependentBT(), (4, 4), checkers, 8) == [0, 2, 5, 7, 8, 10, 13, 15]

    def test_the_anchor_is_the_first_block_placed_even_where_the_first_piece_broke(self):
        # No quarter is free, so 4 becomes 2 + 2: nodes 9, 13 first, then 3, 7. The 1 that is left
        # goes beside the first of them, beside the last, or to the leftmost free leaf.
        busy = [0, 5, 8, 2, 10]
        assert chosen(DependentBT(), (4, 4), busy, 5) == [3, 7, 9, 12, 13]
        assert chosen(DependentBT(anchor="last"), (4, 4), busy, 5) == [3, 6, 7, 9, 13]
        assert chosen(IndependentBT(), (4, 4), busy, 5) == [3, 4, 7, 9, 13]


class TestCurves:
    def test_cells_outside_the_mesh_are_left_out_and_ranks_closed_up(self):
        assert hilbert_curve(2, 3).tolist() == [0, 3, 4, 1, 2, 5]
        assert hilbert_curve(3, 2).tolist() == [0, 1, 3, 2, 4, 5]
        assert hilbert_curve(1, 5).tolist() == hilbert_curve(5, 1).tolist() == [0, 1, 2, 3, 4]

    @pytest.mark.thorough
    def test_higher_than_wide_meshes_have_the_transposed_curve(self):
        for rows, columns in itertools.product(range(1, 18), repeat=2):
            assert hilbert_curve(rows, columns).tolist() == states.hilbert_order(rows, columns)
            if rows > columns:
                r, c = np.divmod(hilbert_curve(columns, rows), rows)
                assert hilbert_curve(rows, columns).tolist() == (c * columns + r).tolist()

    def test_equal_intervals_and_windows_are_taken_from_the_lowest_rank(self):
        for fit in ("ff", "bf", "ss"):
            for strategy in (Snake(fit=fit), Hilbert(fit=fit)):
                assert chosen(strategy, (1, 8), [2, 5], 2) == [0, 1]
                assert chosen(strategy, (1, 7), [1, 3, 5], 2) == [0, 2]

    def test_an_interval_used_up_is_none_in_the_sum_of_squares(self):
        # Of 3 free ranks 1 is left, and the 2: sum 2. Of the 2 nothing is left, and the 3: sum 1.
        assert chosen(Snake(fit="ss"), (1, 7), [3, 6], 2) == [4, 5]


class TestMc:
    def rings(self, row, column, h, w, sides, count):
        out = np.empty(count, dtype=np.int64)
        gather(np.ones(sides, dtype=bool), row, column, h, w, out)
        return [divmod(node, sides[1]) for node in out.tolist()]

    def test_a_lying_window_has_left_right_top_bottom_then_the_corners(self):
        assert self.rings(3, 2, 1, 3, (7, 7), 34) == [
            (3, 2),
            (3, 3),
            (3, 4),
            (3, 1),
            (3, 5),
            (2, 3),
            (2, 2),
            (2, 4),
            (4, 3),
            (4, 2),
            (4, 4),
            (2, 1),
            (4, 1),
            (2, 5),
            (4, 5),
            (3, 0),
            (2, 0),
            (4, 0),
            (3, 6),
            (2, 6),
            (4, 6),
            (1, 3),
            (1, 2),
            (1, 4),
            (1, 1),
            (1, 5),
            (5, 3),
            (5, 2),
            (5, 4),
            (5, 1),
            (5, 5),
            (1, 0),
            (5, 0),
            (1, 6),
        ]

    def test_an_upright_window_has_top_bottom_left_right_and_the_smaller_of_two_middles_first(self):
        assert self.rings(2, 3, 2, 1, (7, 7), 12) == [
            (2, 3),
            (3, 3),
            (1, 3),
            (4, 3),
            (2, 2),
            (3, 2),
            (2, 4),
            (3, 4),
            (1, 2),
            (4, 2),
            (1, 4),
            (4, 4),
        ]

    def test_a_square_window_counts_as_lying_and_is_taken_column_by_column(self):
        assert self.rings(1, 1, 2, 2, (4, 4), 9) == [
            (1, 1),
            (2, 1),
            (1, 2),
            (2, 2),
            (1, 0),
            (2, 0),
            (1, 3),
            (2, 3),
            (0, 1),
        ]

    def test_the_middle_of_a_side_is_that_of_the_side_unclipped(self):
        # Columns 2 to 6 of four: the middle is 4, so 3 comes before 2.
        assert self.rings(0, 2, 1, 5, (2, 4), 5) == [(0, 2), (0, 3), (0, 1), (1, 3), (1, 2)]

    def test_the_lying_shape_comes_before_the_upright_and_columns_before_rows(self):
        assert chosen(MC(), (4, 4), [], 2) == [0, 1]
        assert MC().choose(only((4, 4), [(0, 3), (2, 1), (3, 1)]), 1).tolist() == [9]

    def test_a_shape_is_kept_upright_or_lying_as_it_was_given(self):
        mesh = Mesh(4, 4)
        assert MC().choose(mesh, Request.of_shape(2, 1)).tolist() == [0, 4]
        assert MC().choose(mesh, Request.of_shape(1, 2)).tolist() == [0, 1]

    def test_a_shape_may_be_longer_than_the_mesh(self):
        assert MC().choose(Mesh(2, 3), Request.of_shape(1, 6)).tolist() == list(range(6))

    def test_a_free_region_of_another_shape_need_not_be_found(self):
        # A free row of six, but the shape of six is 2 x 3: two rows of three cost as much.
        row = [(0, c) for c in range(6)]
        block = [(3, c) for c in (8, 9, 10)] + [(4, c) for c in (8, 9, 10)]
        nodes = MC().choose(only((6, 12), row + block), 6)
        assert nodes.tolist() == sorted(r * 12 + c for r, c in block)
        mesh = only((6, 12), row)
        assert nodes_affected(mesh, MC().choose(mesh, 6)) == 6


class TestPlas:
    def test_an_odd_number_of_rows_begins_in_the_middle_one(self):
        assert chosen(PLAS(), (5, 2), [], 2) == [2, 4]
        assert chosen(PLAS(), (5, 2), [], 7) == [0, 2, 3, 4, 5, 6, 8]
        assert chosen(PLAS(), (1, 5), [0], 2) == [1, 2]

    def test_the_upper_of_two_rows_comes_first_however_busy_the_upper_half_is(self):
        assert chosen(PLAS(), (4, 2), [], 1) == [2]
        assert chosen(PLAS(), (4, 2), [0, 1], 1) == [2]


class TestMcElongated:
    @pytest.mark.parametrize(
        ("sides", "busy", "node"),
        [
            ((4, 2), [], 2),
            ((4, 2), [0], 4),
            ((4, 2), [6], 2),
            ((4, 2), [0, 6], 2),
            ((5, 1), [2], 1),
            ((5, 1), [0, 2], 3),
            ((5, 1), [2, 4], 1),
            ((1, 4), [0], 1),
        ],
    )
    def test_the_lower_half_comes_first_only_if_the_upper_is_busier(self, sides, busy, node):
        assert chosen(MCElongated(), sides, busy, 1) == [node]

    def test_the_preferred_half_stays_so_throughout_a_request(self):
        # Column 1 whole, then of column 0 row 2, though the lower half is the fuller by then.
        assert chosen(MCElongated(), (4, 2), [0], 5) == [1, 3, 4, 5, 7]

    def test_a_window_protrudes_and_is_never_shifted(self):
        assert MCElongated().costs(Mesh(2, 6), 8).tolist() == [2, 0, 0, 0, 2, 6]

    def test_a_request_smaller_than_a_column_has_a_window_of_one(self):
        assert MCElongated().costs(mesh_with((4, 3), [0, 3, 6, 9]), 3).tolist() == [3, 0, 0]

    def test_columns_without_idle_nodes_are_candidates_too(self):
        mesh = only((4, 3), [(0, 0), (3, 0), (0, 2), (3, 2)])
        assert MCElongated().costs(mesh, 4).tolist() == [4, 4, 4]

    @given(seed=st.integers(0, 10**6), rows=st.integers(1, 6), columns=st.integers(1, 9))
    def test_the_printed_window_gives_the_same_layouts_at_other_costs(self, seed, rows, columns):
        rng = np.random.default_rng(seed)
        free = rng.random((1, rows * columns)) < rng.uniform(0.1, 1.0)
        if free.any():
            size = int(rng.integers(1, free.sum() + 1))
            printed = self.printed(free[0], rows, columns, size)
            assert MCElongated().choose(
                mesh_with((rows, columns), np.flatnonzero(~free[0])), size
            ).tolist() == sorted(printed)

    def printed(self, free, rows, columns, size):
        """With the window as it stands in the paper, from i - floor(j / 2 k)."""
        cells = [divmod(int(node), columns) for node in np.flatnonzero(free)]
        width, best = max(1, size // rows), None
        upper = sum(2 * r < rows - 1 for r, _ in cells)
        sign = -1 if upper < sum(2 * r > rows - 1 for r, _ in cells) else 1
        for i in range(columns):
            first = i - size // (2 * rows)
            shells = sorted(
                (
                    max(first - c, c - first - width + 1, 0),
                    abs(2 * r - rows + 1),
                    c,
                    sign * r,
                    r * columns + c,
                )
                for r, c in cells
            )[:size]
            cost = sum(shell[0] for shell in shells)
            if best is None or cost < best[0]:
                best = cost, [shell[-1] for shell in shells]
        return best[1]
