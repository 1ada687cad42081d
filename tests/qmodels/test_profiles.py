from __future__ import annotations

import math

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.programs import WorkloadMix, speedup_surface
from qmodels.programs.profiles import PROFILES, profile, reference_mix

#: name: phases, computation and I/O of a job, as the specification has them
SPECIFIED = {
    "QCRD-2": (12, 700, 30),
    "QCRD-4": (12, 500, 24),
    "MESSKIT-SCF": (5, 300, 48),
    "MESSKIT-ARGOS": (4, 240, 60),
    "ESCAT-2": (8, 900, 22),
    "ESCAT-4": (8, 644, 20),
    "RENDER": (10, 300, 20),
}
COMMUNICATING = ("QCRD-2", "QCRD-4", "MESSKIT-SCF")


class TestAProfile:
    def test_is_there_for_each_of_the_seven_programs(self):
        assert list(PROFILES) == list(SPECIFIED)

    @pytest.mark.parametrize("name", SPECIFIED)
    def test_has_the_phases_and_totals_of_the_specification(self, name):
        phases, computation, transfer = SPECIFIED[name]
        program = profile(name, messages=0.0)
        assert program.name == name
        assert len(program.phases) == phases
        assert len(program.working_sets) == 1
        p, d = 32, 8
        overhead = 0.1 * computation / 512
        expected = overhead + computation / p
        assert float(program.mean_cpu(p, d)) == pytest.approx(expected, rel=1e-12)
        assert float(program.mean_io(p, d)) == pytest.approx(transfer / d, rel=1e-12)

    @pytest.mark.parametrize("name", SPECIFIED)
    def test_is_labelled_synthetic(self, name):
        assert PROFILES[name].note.startswith("synthetic, not a measurement")

    @pytest.mark.parametrize("name", SPECIFIED)
    def test_communicates_where_the_specification_says_so(self, name):
        """0.02 s of each phase for each further processor, or nothing."""
        gained = float(profile(name).mean_cpu(65, 8) - profile(name, messages=0.0).mean_cpu(65, 8))
        expected = 64 * 0.02 * SPECIFIED[name][0] if name in COMMUNICATING else 0.0
        assert gained == pytest.approx(expected, rel=1e-9, abs=1e-12)

    @pytest.mark.parametrize("name", COMMUNICATING)
    def test_with_communication_peaks_inside_the_machine(self, name):
        """Where the slope of Z/p + 4 I/p + .02 N p vanishes."""
        n, computation, transfer = SPECIFIED[name]
        best = speedup_surface(profile(name), np.arange(1, 129), np.arange(1, 33)).best()
        peak = math.sqrt((computation + 4 * transfer) / (0.02 * n))
        assert abs(best.processors - peak) <= 1
        assert best.disks == math.ceil(best.processors / 4)

    def test_may_be_given_other_communication(self):
        more = profile("RENDER", messages=0.5)
        assert float(more.sequential_cpu(3, 1) - more.sequential_cpu(1, 1)) == pytest.approx(10.0)

    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            ("QCRD-3", "QCRD-"),
            ("escat-2", "ESCAT-2"),
            ("SCF", "did you mean|known are QCRD-2"),
            ("", "known are"),
            (None, "known are"),
            (3, "known are"),
            ("x" * 10**6, "known are"),
            (["RENDER"], "RENDER"),
        ],
    )
    def test_that_is_unknown_is_refused_with_the_nearest(self, name, hint):
        with pytest.raises(ModelError, match=hint) as caught:
            profile(name)
        assert len(str(caught.value)) < 300

    @pytest.mark.parametrize("messages", [-1.0, math.nan, math.inf, "1", True, [0.1], 1e300])
    def test_refuses_communication_that_cannot_be(self, messages):
        with pytest.raises(ModelError, match="messages"):
            profile("RENDER", messages=messages)

    def test_cannot_be_edited(self):
        with pytest.raises(TypeError):
            PROFILES["QCRD-2"] = None


class TestTheReferenceMixture:
    def test_has_the_means_of_its_one_line_form(self):
        mix = reference_mix()
        assert mix.mean_phases == pytest.approx(59 / 7)
        for p in (1, 2, 7, 8, 8.001, 128 / 3, 128):
            for d in (1, 2, 32):
                slow = 2.2 if p <= 8 else 1.0
                assert float(mix.mean_cpu(p, d)) == pytest.approx(slow * (0.1 + 512 / p), rel=1e-12)
                assert float(mix.mean_io(p, d)) == pytest.approx(32 / min(d, p / 4), rel=1e-12)

    def test_carries_the_whole_slowdown_in_one_program(self):
        slowdowns = {x.name: x.phases[0].cpu.slowdown for x in reference_mix().programs}
        factors = {name: s[1] for name, s in slowdowns.items() if s is not None}
        assert factors == {"ESCAT-2": pytest.approx(5.78, abs=0.005)}

    def test_slows_the_sequential_part_too(self):
        """Sixteen undisturbed jobs on 8 processors and 2 disks each: .1019 jobs/s, 157.02 s.

        Slowing the parallel part alone would give 156.90 s and .1020 jobs/s.
        """
        mix = reference_mix()
        alone = float(mix.mean_time(8, 2))
        assert round(alone, 2) == 157.02
        assert round(16 / alone, 4) == 0.1019
        other = float(mix.mean_io(8, 2)) + 0.1 + 2.2 * 512 / 8
        assert (round(other, 2), round(16 / other, 4)) == (156.90, 0.1020)

    def test_has_the_tabulated_times_without_slowdown(self):
        """Eight jobs on 16 processors and 2 disks each: 48.10 s and .1663 jobs/s."""
        mix = reference_mix()
        assert isinstance(mix, WorkloadMix)
        alone = float(mix.mean_time(16, 2))
        assert round(alone, 2) == 48.10
        assert round(8 / alone, 4) == 0.1663
