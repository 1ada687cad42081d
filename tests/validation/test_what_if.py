"""`what_if` and `qmodels what-if`: known answers, ties, money, and what breaks the assumptions."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pandas as pd
import pytest

from qmodels.errors import ModelError
from qmodels.io.scenario import load_scenario
from qmodels.policies import SpaceSharing, predict, work_bound
from qmodels.policies.choice.recommendation import BEST, SATURATED, SLOWER, TIE, RankedPolicy
from tests.command import invoked, result_of
from validation.commands import what_if as command
from validation.commands.kept_work import kept_work
from validation.study import demo
from validation.study.what_if import what_if
from validation.study.what_if.advice import FASTER, OPEN, TIED, advice, spending, verdict
from validation.study.what_if.page import what_if_page

RUNS = Path(__file__).parents[2] / "docs" / "examples" / "measured-runs.toml"
DEMO = Path(demo.__file__).with_name("scenario.toml")
SMALL = """
title = "A small machine"
[machine]
processors = 16
disks = 4
min_processors = 2
min_disks = 1
[[program]]
name = "one"
io = { seconds = 16.0 }
cpu = { seconds = 64.0 }
[[policy]]
kind = "SP"
processor_partitions = [1, 2, 8]
disk_partitions = 1
[[policy]]
kind = "DP"
disk_partitions = 1
[study]
loads = [0.2, 0.4]
"""


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def row(value, error=0.1, *, method="approximate", status=SLOWER, partitions=1):
    return RankedPolicy(
        policy=SpaceSharing(partitions, 1),
        status=status,
        value=value,
        error=error,
        quantities={},
        capacity=1.0,
        method=method,
    )


class TestTheGrid:
    def test_of_one_job_at_a_time_is_the_m_m_1_queue(self, small):
        # 16 / d + 64 / p seconds, exponential: R = S / (1 - rate S); load 1 is min(P/64, D/16).
        found = what_if(small, {"processors": [16, 32, 64], "disks": [4, 8], "policy": ["SP(1,1)"]})
        assert found.bound == pytest.approx(0.25)
        for cell in found.cells:
            p, d = cell.machine.setting["processors"], cell.machine.setting["disks"]
            service, rate = 16 / d + 64 / p, cell.load * 0.25
            if rate * service < 1:
                assert cell.best.value == pytest.approx(service / (1 - rate * service), rel=1e-9)
                assert cell.best.error < 1e-6
            else:
                assert cell.best is None
                assert "no policy carries the load; SP(1,1) carries most" in cell.why_none

    @pytest.mark.thorough
    def test_has_what_predict_says_for_the_same_jobs_on_every_machine(self, small):
        found = what_if(small, {"processors": [8, 32], "disks": [2], "scv": [4.0]})
        plan = load_scenario(small)
        bound = work_bound(plan.system, plan.program)
        count = 0
        for cell in found.cells:
            setting = cell.machine.setting
            there = load_scenario(
                small,
                settings={
                    "machine.processors": setting["processors"],
                    "machine.disks": setting["disks"],
                    "demand.scv": setting["scv"],
                },
            )
            for each in cell.rows:
                if each.status == SATURATED:
                    continue
                answer = predict(each.policy, there.system, there.workload, arrival_rate=cell.load * bound)
                assert each.value == answer.mean_response
                assert each.capacity == answer.capacity
                count += 1
        assert count > 50

    @pytest.mark.thorough
    def test_has_today_s_values_among_those_asked_for(self, small):
        found = what_if(small, {"processors": [32, 8], "machine.disks": 4, "load": 0.2})
        assert [axis.values for axis in found.axes] == [(8, 16, 32), (4,)]
        assert found.today == {"processors": 16, "disks": 4}
        assert found.loads == (0.2,)

    @pytest.mark.thorough
    def test_names_what_is_no_machine_and_what_does_not_fit(self, small):
        small.write_text(SMALL.replace("min_processors = 2", "min_processors = 8"))
        with pytest.raises(ModelError):
            what_if(small, {"processors": [4]})  # SP(8,1) does not fit the file's own machine
        small.write_text(SMALL)
        found = what_if(small, {"processors": [1, 8], "load": [0.2]})
        none, less, now = found.cells
        assert "min_processors" in none.machine.refused
        assert none.rows == ()
        assert less.machine.misfits == ("SP(8,1)",)
        assert now.machine.misfits == ()
        statuses = found.to_frame().groupby(["processors", "status"]).size().to_dict()
        assert statuses[1, "refused"] == 1
        assert statuses[8, "does not fit"] == 1

    def test_is_refused_where_no_point_is_a_machine(self, small):
        with pytest.raises(ModelError, match=r"sequential.*greater than or equal to 0"):
            what_if(small, {"program.0.io.sequential": [-1.0]})  # today's is not said in the file

    @pytest.mark.thorough
    def test_hangs_on_neither_the_workers_nor_on_resuming(self, small, tmp_path):
        over = {"processors": [8, 32], "scv": [4.0]}
        alone = list(what_if(small, over).records())
        with ThreadPoolExecutor(3) as pool:
            assert str(list(what_if(small, over, executor=pool).records())) == str(alone)
        out = tmp_path / "out.csv"
        steps = []

        def stop(what, done, total):
            steps.append((done, total))
            if done == 5:
                raise KeyboardInterrupt

        module = "validation.study.what_if.grid"
        with (
            pytest.raises(KeyboardInterrupt),
            kept_work(out, module, workers=1) as work,
        ):
            what_if(small, over, executor=work.processes, progress=stop)
        assert out.with_name("out.csv.journal").exists()
        with kept_work(out, module, workers=1) as work:
            again = list(what_if(small, over, executor=work.processes).records())
            assert work.processes.new_seconds < work.processes.cpu_seconds
        assert str(again) == str(alone)
        assert not out.with_name("out.csv.journal").exists()
        assert steps[0] == (0, 22)  # six machines of four policies, SP(8,1) not on 8 processors

    @pytest.mark.parametrize(
        ("over", "prices", "said"),
        [
            ({"procesors": [8]}, {}, "did you mean processors"),
            ({"processors": [8], "machine.processors": [32]}, {}, "is there twice"),
            ({"processors": []}, {}, "has no values"),
            ({"load": []}, {}, "has no values"),
            ({"policy": []}, {}, "has no values"),
            ({"processors": [inf]}, {}, "finite"),
            ({"load": [nan]}, {}, "load"),
            ({"load": [-0.1]}, {}, "load"),
            ({"processors": [8.5]}, {}, "valid integer"),
            ({"machine.disk_discipline": ["lifo"]}, {"machine.disk_discipline": 1.0}, "counted"),
            ({"log.path": ["other.swf"]}, {}, "what was measured"),
            ({"policy": ["SP(3,7)"]}, {}, "no policy"),
            ({"processors": [8]}, {"disks": 4.0}, "it is not varied"),
            ({"processors": [8]}, {"processors": -1.0}, "price of processors"),
            ({"processors": [8]}, {"processors": nan}, "price of processors"),
            ({"processors": list(range(2, 100))}, {}, "at most 64"),
            ({"machine.colour": ["red"]}, {}, "colour"),
        ],
    )
    def test_refuses_in_words_what_it_cannot_vary(self, small, over, prices, said):
        if over == {"processors": [8.5]}:  # one value of several: the others are answered
            found = what_if(small, over | {"load": [0.2]})
            assert said in found.cells[0].machine.refused
            return
        with pytest.raises(ModelError, match=said):
            what_if(small, over, prices)


class TestWhatAMachineThoughtOfKeeps:
    """Cases in which laying a value over the file would change more than the machine."""

    def test_is_the_scale_of_programs_that_a_log_gave(self):
        settings = {"demand.scale_to_log": True, "machine.disks": 4}
        found = what_if(
            load_scenario(DEMO, settings=settings),
            {"disks": [32], "load": [0.3], "policy": ["SP(1,1)"]},
        )
        now, more = (cell.best.value for cell in found.cells)
        laid = load_scenario(DEMO, settings=settings | {"machine.disks": 32})
        plan = load_scenario(DEMO, settings=settings)
        # The trap is there: with more disks the log's work would mean slower programs.
        assert laid.time_scale > 1.02 * plan.time_scale
        rate = 0.3 * found.bound
        true = predict(
            SpaceSharing(1, 1),
            laid.system,
            replace(laid.workload, program=plan.program),
            arrival_rate=rate,
        )
        assert more == pytest.approx(true.mean_response, rel=1e-12)
        assert more < now

    def test_is_what_a_job_of_several_programs_is(self):
        plan = load_scenario(DEMO)
        assert plan.mix == "mean"
        assert load_scenario(DEMO, settings={"demand.scv": 4.0}).mix == "each"  # the trap
        found = what_if(plan, {"scv": [4.0], "load": [0.3], "policy": ["SP(4,4)"]})
        kept = load_scenario(DEMO, settings={"demand.scv": 4.0, "demand.mix": "mean"})
        answer = predict(SpaceSharing(4, 4), kept.system, kept.workload, arrival_rate=0.3 * found.bound)
        assert found.cells[-1].best.value == answer.mean_response

    def test_is_refused_for_laws_of_bursts(self, small):
        small.write_text(SMALL + "[bursts]\nio = { scv = 1.0 }\n")
        with pytest.raises(ModelError, match="bursts have laws of their own"):
            what_if(small, {"scv": [4.0]})
        found = what_if(small, {"bursts.io.scv": [4.0], "load": [0.2], "policy": ["SP(2,1)"]})
        assert found.cells[0].best.value < found.cells[1].best.value


class TestVerdicts:
    @pytest.mark.parametrize(
        ("new", "old", "how"),
        [
            (row(8.2), row(10.0), TIED),  # up to 9.02 and down to 9
            (row(8.1), row(10.0), FASTER),  # up to 8.91
            (row(8.0, 0.05), row(10.0), FASTER),  # 8.4 and 9
            (row(10.0), row(8.0, 0.05), "slower"),
            (row(10.0), row(10.0), TIED),
            (row(10.0, 1e-9), row(10.0, 1e-9), TIED),
            (row(9.999, 1e-9), row(10.0, 1e-9), FASTER),
            (row(1.0, inf), row(10.0), OPEN),
            (row(1.0), row(10.0, inf), OPEN),
        ],
    )
    def test_go_by_the_stated_errors(self, new, old, how):
        assert verdict(new, old) == how

    def test_say_one_disk_not_disks(self, small):
        small.write_text(SMALL.replace("disks = 4", "disks = 1"))
        (said, *_) = advice(what_if(small, {"disks": [2], "load": [0.1], "policy": ["SP(1,1)"]}))
        assert "today's machine (1 disk) answers" in said

    def test_name_no_machine_where_only_loads_are_asked_for(self, small):
        (said, *_) = advice(what_if(small, {"load": [0.2], "policy": ["SP(1,1)"]}))
        assert said.startswith("At load 0.2 today's machine answers soonest under SP(1,1): ")

    def test_say_where_the_errors_behind_a_tie_are_not_known(self, small):
        waves = "[arrivals]\nD0 = [[-2.0, 0.1], [0.1, -0.3]]\nD1 = [[1.9, 0.0], [0.0, 0.2]]\n"
        small.write_text(SMALL + waves)
        said, *_ = advice(what_if(small, {"load": [0.1], "policy": ["SP(2,1)", "SP(4,1)"]}))
        assert "(error unknown); with errors of the models that are not known here SP(" in said

    @pytest.mark.thorough
    def test_never_call_a_tie_a_winner(self, small):
        found = what_if(small, {"processors": [17], "load": [0.2]}, {"processors": 1.0})
        sentences = advice(found)
        assert any("a tie within the errors" in text for text in sentences)
        assert not any("faster" in text for text in sentences)
        (near,) = found.nearby
        assert near in found.table()
        assert "one more processor: " in near


class TestMoney:
    @pytest.fixture
    def bought(self, small):
        return what_if(
            small,
            {"processors": [32], "disks": [8], "load": [0.4], "policy": ["SP(1,1)"]},
            {"processors": 1.0, "disks": 8.0},
        )

    def test_buys_the_least_response_step_by_step(self, bought):
        # S = 16/d + 64/p at rate .1: 8, 6, 6 and 4 s; R = S / (1 - S/10)
        steps = spending(bought, 0.4)
        assert [(step.money, round(step.cell.best.value, 9), step.verdict) for step in steps] == [
            (0.0, 40.0, ""),
            (16.0, 15.0, FASTER),
            (48.0, round(4 / 0.6, 9), FASTER),
        ]

    def test_names_the_thing_to_buy_and_what_it_is_held_against(self, bought):
        (text,) = [line for line in advice(bought) if "for up to" in line]
        assert "for up to 32" in text
        assert "a tie within the errors" in text  # 15 s either way, and exact

    def test_says_what_the_dearer_choice_gives(self, small):
        found = what_if(
            small,
            {"processors": [64], "disks": [8], "load": [0.4], "policy": ["SP(1,1)"]},
            {"processors": 1.0, "disks": 8.0},
        )
        (text,) = [line for line in advice(found) if "for up to" in line]
        assert "for up to 48: processors 64 gives 10 s" in text  # S = 5 s
        assert "disks 8 15 s (exact): slower" in text

    def test_of_machines_without_an_answer_is_said(self, small):
        found = what_if(
            small,
            {"processors": [32], "disks": [8], "load": [0.9], "policy": ["SP(1,1)"]},
            {"processors": 1.0, "disks": 8.0},
        )
        assert "has no answer" in advice(found)[0]
        assert spending(found, 0.9)[0].money == 48.0


class TestTheCommand:
    def called(self, *words):
        done = invoked(command.register, "what-if", *words)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    @pytest.mark.thorough
    def test_answers_in_words(self, small):
        done = self.called(
            small,
            "--over",
            "processors=16:64",
            "disks=4,8",
            "load=.4",
            "--price",
            "processors=1",
            "disks=8",
            "-j",
            1,
        )
        assert done.exit_code == 0
        assert "what money buys at load 0.4" in done.stdout
        assert "- At load 0.4, for up to 48:" in done.stdout
        lines = [line for line in done.stdout.splitlines() if line.split()[:1] == ["64"]]
        assert len(lines) == 2

    @pytest.mark.thorough
    def test_prints_one_object_with_a_schema(self, small):
        done = self.called(small, "processors=32", "-j", 1, "--json", "--set", "machine.disks=8")
        found = result_of(done.stdout)
        assert json.loads(done.stdout)["command"] == "what-if"
        assert found["set"] == ["machine.disks = 8 (4 in the file)"]
        assert found["axes"] == {"processors": [16, 32]}
        assert len(found["points"]) == 2 * 2 * 4
        assert {point["status"] for point in found["points"]} <= {
            BEST,
            TIE,
            SLOWER,
            SATURATED,
            "undecided",
        }

    @pytest.mark.thorough
    def test_writes_the_table_of_all_points(self, small, tmp_path):
        out = tmp_path / "all.csv"
        done = self.called(small, "processors=32", "-j", 1, "-o", out)
        assert "predictions" in done.stderr
        table = pd.read_csv(out)
        assert len(table) == 16
        assert [*tmp_path.glob("*.journal")] == []

    @pytest.mark.thorough(first=1, but=["words6-price of processors", "words4-is no range"])
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ([], "say what to vary"),
            (["processors"], "is no axis"),
            (["processors=8:4"], "must rise"),
            (["processors=0:4"], "must rise from above 0"),
            (["processors=1:2:3:4"], "is no range"),
            (["processors=32", "--price", "processors=1,2"], "one price"),
            (["processors=32", "--price", "processors=dear"], "price of processors"),
            (["processors=32", "-o", "out.txt"], "ends in .csv or .parquet"),
            (["processors=32", "-o", "nowhere/at/all/page.html"], "there is no such folder"),
            (["processors=32", "--objective", "p9x"], "p9x"),
            (["load=.001:.9:.00001", "-o", "page.html"], r"page of [\d.]+ million"),
        ],
    )
    def test_refuses_before_the_work(self, small, words, said):
        with pytest.raises(ModelError, match=said):
            self.called(small, *words, "-j", 1)


@pytest.mark.thorough
def test_programs_learnt_from_runs_are_not_learnt_again_and_said_to_be_extrapolated(monkeypatch):
    from qmodels.io import _scenario_programs as reader

    plan = load_scenario(RUNS)
    monkeypatch.setattr(reader, "fit_runs", None)  # seconds for each machine
    found = what_if(plan, {"disks": [4], "load": [0.1], "policy": ["SP(2,1)"]})
    assert [cell.best is not None for cell in found.cells] == [True, True]
    assert "extrapolated" in found.remarks[-1]
    assert "2 machines over disks" in repr(found)


def test_laws_of_a_log_are_said_to_be_fitted_and_how_far_they_are_from_it():
    found = what_if(DEMO, {"disks": [64], "load": [0.4], "policy": ["SP(4,16)", "SP(1,1)"]})
    best = next(cell.best for cell in found.cells if cell.machine.setting == found.today)
    said = found.remarks[-1]
    assert said.startswith("Laws were fitted to jobs.swf.gz. Its own 4,999 jobs")
    assert f"{best.label} on today's machine at load 0.4 a mean response of " in said
    assert re.search(r'"exact": ?"exact for the fitted laws"', what_if_page(found))


def test_given_laws_are_exact_on_the_page_without_a_remark(small):
    found = what_if(small, {"disks": [2], "load": [0.2], "policy": ["SP(1,1)"]})
    assert not any("fitted" in text for text in found.remarks)
    assert "exact for the fitted" not in what_if_page(found)


def test_a_machine_is_named_by_what_is_varied_and_as_todays_only_where_the_file_says_it(small):
    only = {"load": [0.2], "policy": ["SP(1,1)"]}
    assert advice(what_if(small, only))[0].startswith("At load 0.2 today's machine answers soonest")
    found = what_if(small, only | {"program.0.weight": [2.0, 3.0], "program.0.io.seconds": [8.0]})
    said = "At load 0.2 the first machine (program.0.weight 2, program.0.io.seconds 16) answers soonest"
    assert advice(found)[0].startswith(said)
    head, *rows = found.table().splitlines()[:5]
    assert head.startswith("  program.0.weight  program.0.io.seconds   load  best policy")
    assert {row.index("SP(1,1)") for row in rows} == {head.index("best policy")}
