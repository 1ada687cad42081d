"""Campaigns beside each other in one journal: none takes away what another has finished."""

import random
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from qmodels.errors import ModelError
from tests.command import called
from tests.validation.test_keeping import SMALL
from tests.validation.test_sweep_command import STRATEGIES
from validation.papers import EXPERIMENTS, Experiment, Outcome
from validation.sweeps.journal import Campaign, Journal, Kept
from validation.sweeps.journal_file import JournalReader

#: A study of it has something to simulate.
SIMULATED = f"""{SMALL}
[validation]
policies = ["DP(1)"]
capacity_fractions = [0.3]
replications = 2
jobs = 20
"""
A, B = Campaign("sweep", "a"), Campaign("sweep", "b")
#: All that keeps its work, each so short that it ends in a blink.
COMMANDS = {
    "predict": "sweep small.toml load=.1,.2 -j 1",
    "simulate": "sweep small.toml load=.1 --kind simulate --replications 2 -j 1",
    "strategies": "sweep machine.toml -j 1",
    "allocate": "allocate machine.toml -j 1",
    "balance": "balance --balancers nlb,CPU --nodes 4 --jobs 20 --replications 2 -j 1",
    "checkpoint": "checkpoint --size 1TB --bandwidth 1GB/s --interval 2h --mtbf 24h --replications 2 -j 1",
    "slices": "slices --pod 2x1x1 --mix 1x1x1 --load 0.3 --strategies ff --disciplines fcfs --jobs 200 "
    "--replications 2 -j 1",
    "what-if": "what-if small.toml --over disks=4 -j 1",
    "recommend": "recommend small.toml --listed --load .3 --map",
    "study": "study small.toml -j 1",
    "validate": "validate tiny -j 1",
}
#: The same with another seed, or another value.
OTHERS = {
    "predict": "sweep small.toml load=.1,.3,.5 -j 1",
    "simulate": f"{COMMANDS['simulate']} --seed 7",
    "strategies": f"{COMMANDS['strategies']} --seed 7",
    "allocate": f"{COMMANDS['allocate']} --seed 7",
    "balance": f"{COMMANDS['balance']} --seed 7",
    "checkpoint": f"{COMMANDS['checkpoint']} --set job.jitter=0.1",
    "slices": f"{COMMANDS['slices']} --set jobs.load=0.4".replace("--load 0.3 ", ""),
    "what-if": f"{COMMANDS['what-if']} load=.2",
    "recommend": f"{COMMANDS['recommend']} --set machine.disks=1",
    "study": f"{COMMANDS['study']} --seed 7",
    "validate": f"{COMMANDS['validate']} --seed 7",
}

#: The smallest picture.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)


def _tiny(options):
    """An experiment of two powers of its seed."""
    powers = [options.processes.submit(pow, 2 + options.seed, n).result() for n in (1, 2)]
    return Outcome(pd.DataFrame({"power": powers}), (), Figure)


def _not_drawn(figure, file, **options):
    if hasattr(file, "write"):
        file.write(PIXEL)
    else:
        Path(file).write_bytes(PIXEL)


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SIMULATED)
    (tmp_path / "machine.toml").write_text(STRATEGIES)
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("tiny", "none", "none", _tiny))
    # What is drawn is looked at elsewhere; to draw it took most of the time.
    monkeypatch.setattr(Figure, "savefig", _not_drawn)
    return tmp_path


def kept(journal):
    """Every result of a journal, and how often each was computed."""
    with closing(sqlite3.connect(journal)) as source:
        rows = source.execute("SELECT key, value, times FROM result").fetchall()
    return {key: value for key, value, _ in rows}, sum(times for *_, times in rows)


def broken_off(words, monkeypatch):
    """A command that is ended by an error after the first result that it keeps; its keys."""
    before = set(kept("t.csv.journal")[0])
    add = Journal.add

    def once(journal, results):
        add(journal, results)
        journal.commit()
        raise ModelError("that is enough")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", once)
        done = called(*words.split(), "-o", "t.csv")
    assert "that is enough" in done.stderr, done
    new = set(kept("t.csv.journal")[0]) - before
    assert new
    return new


@pytest.mark.thorough
def test_all_commands_break_off_into_one_journal_and_each_takes_away_what_is_its_own(inputs, monkeypatch):
    """Every pair: whichever command ends, what all others had finished is there to go on with."""
    Journal(inputs / "t.csv.journal", version="1").close()
    left = {name: broken_off(words, monkeypatch) for name, words in COMMANDS.items()}
    whole = (inputs / "t.csv.journal").read_bytes()
    held, _ = kept("t.csv.journal")
    for name, words in COMMANDS.items():
        (inputs / "t.csv.journal").write_bytes(whole)
        done = called(*words.split(), "-o", "t.csv")
        assert done.returncode == 0, done
        after, computed = kept("t.csv.journal")
        others = set().union(*(keys for other, keys in left.items() if other != name))
        assert after == {key: held[key] for key in others}
        assert computed == len(others)
        assert done.stderr.count("keeps finished runs of another command") == len(left) - 1
        target = inputs / "t.csv"
        shutil.rmtree(target) if target.is_dir() else target.unlink()


@pytest.mark.thorough(but=["validate"])
@pytest.mark.parametrize("name", COMMANDS)
def test_another_seed_or_value_of_a_command_leaves_what_the_first_had_finished(inputs, monkeypatch, name):
    Journal(inputs / "t.csv.journal", version="1").close()
    broken_off(COMMANDS[name], monkeypatch)
    first, _ = kept("t.csv.journal")
    assert called(*OTHERS[name].split(), "-o", "t.csv").returncode == 0
    assert kept("t.csv.journal") == (first, len(first))
    assert called(*COMMANDS[name].split(), "-o", "t.csv").returncode == 0
    assert not (inputs / "t.csv.journal").exists()


def test_a_scenario_that_was_changed_leaves_the_runs_of_the_one_before(inputs, monkeypatch):
    Journal(inputs / "t.csv.journal", version="1").close()
    broken_off(COMMANDS["what-if"], monkeypatch)
    first = kept("t.csv.journal")
    (inputs / "small.toml").write_text(SIMULATED.replace("loads = [0.3]", "loads = [0.3, 0.4]"))
    called(*COMMANDS["what-if"].split(), "-o", "t.csv")
    assert kept("t.csv.journal") == first


@pytest.mark.thorough
def test_results_of_a_sweep_are_told_from_those_of_the_others_in_its_journal(inputs, monkeypatch):
    Journal(inputs / "t.csv.journal", version="1").close()
    for name in ("predict", "strategies"):
        broken_off(COMMANDS[name], monkeypatch)
    broken_off(OTHERS["predict"], monkeypatch)
    last = called("sweep", "results", "t.csv.journal")
    assert "0.5,not done" in last.stdout
    [number] = re.findall(r"also has sweep (\d+), 1 runs: .* load=.1,.2", last.stderr)
    first = called("sweep", "results", "t.csv.journal", number)
    assert "0.2,not done" in first.stdout
    assert "has no sweep 77; it has" in called("sweep", "results", "t.csv.journal", "77").stderr


@pytest.mark.thorough
def test_what_another_version_began_is_refused_before_any_computing(inputs, monkeypatch):
    Journal(inputs / "t.csv.journal", version="1").close()
    for name in COMMANDS:
        broken_off(COMMANDS[name], monkeypatch)
    with closing(sqlite3.connect("t.csv.journal")) as db, db:
        db.execute("UPDATE campaign SET version = 'old'")
    monkeypatch.setattr("qmodels.policies.choice.recommendation.recommend", None)
    before = kept("t.csv.journal")
    for words in COMMANDS.values():
        done = called(*words.split(), "-o", "t.csv")
        assert re.search(r"its \d+ results are of another version of the code", done.stderr)
        assert re.search(r"with \d+ of other commands in it,", done.stderr)
    assert kept("t.csv.journal") == before


def test_a_campaign_that_ends_leaves_what_others_have_asked_for(tmp_path):
    file = tmp_path / "j"
    with Journal(file, version="1", campaign=A) as journal:
        journal.add([Kept("both", "1"), Kept("mine", "2")])
    with Journal(file, version="1", campaign=B, command="b") as journal:
        assert journal.known("both") == "1"
        journal.add([Kept("yours", "3")])
    journal = Journal(file, version="1", campaign=A)
    assert (journal.known("both"), journal.known("mine")) == ("1", "2")
    assert journal.others() == [(1, "b")]
    journal.close(ended=True)
    with Journal(file, version="1", campaign=A) as again:
        assert (again.count(), again.known_keys().keys()) == (0, {"both", "yours"})
    journal = Journal(file, version="1", campaign=B)
    assert journal.count() == 2
    assert (journal.known("both"), journal.known("yours")) == ("1", "3")
    journal.close(ended=True)
    assert not file.exists()


def test_versions_are_those_of_each_campaign_and_reuse_takes_the_last_of_its_kind(tmp_path):
    for campaign, version in ((A, "1"), (B, "2"), (Campaign("study", "c"), "9")):
        with Journal(tmp_path / "j", version=version, campaign=campaign) as journal:
            assert journal.key_version == version
            journal.add([Kept(version, "0")])
    with pytest.raises(ModelError, match=r"its 1 results are of another version of the code \(1; "):
        Journal(tmp_path / "j", version="2", campaign=A)
    for campaign, version in ((Campaign("sweep", "new"), "2"), (A, "1"), (Campaign("x"), "3")):
        with Journal(tmp_path / "j", version="3", campaign=campaign, reuse=True) as journal:
            assert journal.key_version == version


@pytest.mark.thorough
def test_in_any_order_of_runs_a_campaign_finds_all_that_it_had_finished(tmp_path):
    """Against a set of keys for each campaign, which only its own end empties."""
    rng, names, file = random.Random(32), "abcde", tmp_path / "j"
    asks = {name: rng.sample(range(12), 6) for name in names}
    finished = {name: set() for name in names}
    ended = Counter()
    for _ in range(90):
        name = rng.choice(names)
        journal = Journal(file, version="1", campaign=Campaign("sweep", name))
        assert journal.count() == len(finished[name])
        for key in asks[name][: rng.randrange(7)]:
            known = journal.known(str(key))
            assert known == (str(-key) if any(key in s for s in finished.values()) else None)
            if known is None:
                journal.add([Kept(str(key), str(-key))])
            finished[name].add(key)
        ends = finished[name] == set(asks[name])
        journal.close(ended=ends)
        if ends:
            ended[name] += 1
            finished[name] = set()
        held = set().union(*finished.values())
        assert file.exists() == (bool(held) or not ends)
        if file.exists():
            with JournalReader(file) as reader:
                assert reader.results() == {str(key): str(-key) for key in held}
                assert reader.repeated() == 0
    assert min(ended[name] for name in names) > 0
