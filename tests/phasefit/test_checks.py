"""Checks of arguments that everything shares: numbers from 0 to 1, names out of a list."""

import math

import pytest

from phasefit.checks import named, nearest, one_of, share, spelled, suggestion
from phasefit.errors import ModelError


class TestASpelling:
    """Names as people type them; strategies are called DBT and d-BT, so dashes may count."""

    NAMES = ("DBT", "d-BT", "SBT", "speed-scaled", "SP(4,16)", "MPI-IO", "p95", "P95")

    @pytest.mark.parametrize(
        ("given", "name"),
        [
            ("DBT", "DBT"),
            ("dbt", "DBT"),
            ("d-bt", "d-BT"),
            ("D_BT", "d-BT"),
            ("d bt", "DBT"),
            ("sbt", "SBT"),
            ("S-B-T", "SBT"),
            ("Speed_Scaled", "speed-scaled"),
            ("speedscaled", "speed-scaled"),
            (" sp( 4, 16 ) ", "SP(4,16)"),
            ("mpi_io", "MPI-IO"),
            ("p95", "p95"),
            ("P95", "P95"),
            ("p-95", None),
            ("", None),
            ("--", None),
            (4, None),
            (None, None),
            ("SBT" + "x" * 10**6, None),
        ],
    )
    def test_is_that_of_the_only_name_it_can_mean(self, given, name):
        assert spelled(given, self.NAMES) == name

    def test_of_no_name_is_refused_with_the_nearest(self):
        assert named("model", "mpi_io", self.NAMES) == "MPI-IO"
        with pytest.raises(ModelError, match="did you mean 'speed-scaled'"):
            named("model", "speed-scald", self.NAMES)


class TestAShare:
    @pytest.mark.parametrize("value", [0, 1, 0.5, 1e-300])
    def test_is_returned_as_a_float(self, value):
        assert share("level", value) == value
        assert isinstance(share("level", value), float)

    @pytest.mark.parametrize("value", [-1e-300, math.nextafter(1.0, 2.0), math.nan, math.inf, "x"])
    def test_outside_zero_and_one_is_refused(self, value):
        with pytest.raises(ModelError, match="level"):
            share("level", value)

    @pytest.mark.parametrize(
        ("zero", "one", "interval"),
        [
            (True, True, "[0, 1]"),
            (False, True, "(0, 1]"),
            (True, False, "[0, 1)"),
            (False, False, "(0, 1)"),
        ],
    )
    def test_has_its_ends_as_asked(self, zero, one, interval):
        for end, allowed in ((0.0, zero), (1.0, one)):
            if allowed:
                assert share("level", end, zero=zero, one=one) == end
            else:
                with pytest.raises(ModelError) as caught:
                    share("level", end, zero=zero, one=one)
                says = f"level must be in {interval}, got {end:g}; 65 % is 0.65"
                assert str(caught.value) == says

    def test_of_a_percentage_says_what_was_meant(self):
        with pytest.raises(ModelError, match=r"got 97.5; 97.5 % is 0\.975$"):
            share("utilisation", 97.5)


class TestANameThatIsNotThere:
    def test_is_compared_whatever_its_case(self):
        assert nearest("dbt2", ["SBT", "DBT"]) == ["DBT"]
        assert nearest("EASY", ["easy", "FCFS"]) == ["easy"]

    def test_of_two_names_that_differ_in_case_the_first_is_meant(self):
        assert nearest("ab", ["Ab", "aB"]) == ["Ab"]

    def test_has_no_neighbour_when_nothing_is_spelled_like_it(self):
        assert nearest("memory", ["disks", "p"]) == []

    def test_brings_the_list_when_nothing_is_spelled_like_it(self):
        assert suggestion("memory", ["disks", "p"]) == "known are disks, p"
        assert suggestion("disk", ["disks", "p"]) == "did you mean disks?"
        assert suggestion("disk", [], "it has") == "it has none"

    def test_is_refused_with_list_and_neighbour(self):
        with pytest.raises(ModelError) as caught:
            one_of("order", "fcsf", ("ps", "fcfs"))
        assert str(caught.value) == "order must be one of ps, fcfs, got 'fcsf'; did you mean 'fcfs'?"

    @pytest.mark.parametrize("given", [None, 3, ["ps"], b"ps"])
    def test_must_be_text(self, given):
        with pytest.raises(ModelError, match="order must be one of ps"):
            one_of("order", given, ("ps",))
