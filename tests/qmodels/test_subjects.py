from __future__ import annotations

import pytest

from qmodels.errors import ModelError
from qmodels.io.subjects import TraceChoices, read_subject
from qmodels.programs.profiles import PROFILES


@pytest.mark.parametrize("name", list(PROFILES))
def test_a_profile_is_had_by_its_name(name):
    subject = read_subject(name)
    assert (subject.kind, subject.program.name) == ("profile", name)
    assert "synthetic" in subject.remarks[0]


@pytest.mark.parametrize("given", [None, 3, b"QCRD-2"])
def test_a_subject_is_named_by_a_text(given):
    with pytest.raises(ModelError, match="profile"):
        read_subject(given)


def test_a_file_comes_before_a_profile_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "QCRD-2").write_text("rank,start,end,kind\n0,1,3,read\n")
    assert read_subject("QCRD-2").kind == "trace"


class TestATrace:
    @pytest.fixture
    def trace(self, tmp_path):
        lines = ["rank,start,end,kind"]
        for start in (0, 20, 40, 60):
            lines += [f"{rank},{start + rank / 10},{start + 2 + rank / 10},write" for rank in (0, 1)]
        path = tmp_path / "run.csv"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    def test_takes_as_long_on_its_own_allotment_as_it_did(self, trace):
        choices = TraceChoices(5.0, 2.0, 1.0, "min(d, p/2)", "p/(1+0.1*(p-1))")
        subject = read_subject(trace, choices=choices)
        assert float(subject.program.mean_time(2, 1)) == pytest.approx(62.1, rel=1e-9)
        assert subject.measured.tolist() == [[2, 1, 62.1]]

    def test_is_parted_in_the_middle_of_the_widest_plateau(self, trace):
        found = read_subject(trace).run
        low, high = found.sensitivity.plateau
        assert low < found.bursts.gap < high
        assert len(found.bursts) == found.sensitivity.plateau_bursts

    def test_is_parted_within_a_narrow_plateau_too(self, tmp_path):
        path = tmp_path / "narrow.csv"
        path.write_text("rank,start,end,kind\n0,0,1.5,read\n0,3.4,4.9,read\n")
        found = read_subject(str(path)).run
        assert found.sensitivity.plateau == pytest.approx((1.5, 1.9))
        assert len(found.bursts) == 2

    def test_without_a_pause_is_one_burst(self, tmp_path):
        path = tmp_path / "one.csv"
        path.write_text("rank,start,end,kind\n0,1,3,read\n")
        assert len(read_subject(str(path)).run.bursts) == 1

    def test_says_what_was_assumed(self, trace):
        said = " ".join(read_subject(trace).remarks)
        for sentence in ("one disk", "assumed, not measured", "the threshold decides"):
            assert sentence in said
        chosen = TraceChoices(disks=2.0)
        assert "one disk" not in " ".join(read_subject(trace, choices=chosen).remarks)
