"""What a release says of itself agrees: versions, dependencies, and the numbers of the paper."""

from __future__ import annotations

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.distribution import contents_wrong, names_of

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "record"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAPER = re.sub(r"\s+", " ", (ROOT / "docs" / "release" / "paper.md").read_text(encoding="utf-8"))


def test_one_version_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "docs" / "release" / "conda-recipe.yaml").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {PROJECT['version']}\n" in citation
    assert f'version: "{PROJECT["version"]}"' in recipe
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == PROJECT["version"]


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "docs" / "release" / "conda-recipe.yaml").read_text(encoding="utf-8")
    listed = re.findall(r"- (\S+) >=(\S+)", recipe.partition("run:")[2].partition("tests:")[0])
    renamed = {"matplotlib-base": "matplotlib", "python-tzdata": "tzdata"}
    found = {f"{renamed.get(name, name)}>={least}" for name, least in listed}
    assert found == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_a_python_that_is_named_is_allowed():
    least = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert named
    assert min(tuple(map(int, each.split("."))) for each in named) == least


class TestThePaper:
    """Each number is that of the record."""

    def test_forecasts(self):
        readme = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
        told = re.search(
            r"to a quarter of the target (\d+ %) of the runs lie in their intervals and the median error is "
            r"([\d.]+); known to an eighth of the target (\d+ %) of the runs lie in their intervals and the "
            r"median error is ([\d.]+)\.",
            readme,
        ).groups()
        assert (
            f"{told[0]} of the runs lie in their 90 % intervals and the median error is {told[1]};" in PAPER
        )
        assert f"an eighth {told[2]} and {told[3]}." in PAPER

    def test_a_real_scheduler(self):
        table = pd.read_csv(RECORD / "slurm.csv")
        off = (table.measured / table.replayed - 1.0).abs()
        half, most = (float(np.quantile(off, q, method="inverted_cdf")) for q in (0.5, 0.9))
        assert f"over {len(table)} rows" in PAPER
        assert f"within {100 * half:.1f} % of the measured mean response" in PAPER
        assert f"and {100 * most:.1f} % in nine of ten" in PAPER

    def test_networks(self):
        table = pd.read_csv(RECORD / "station-networks.csv")
        exact = table[table.method.str.contains("exact|chain", case=False)]
        assert f"({exact.networks.sum():,} random ones, worst {exact.worst.max():.0e})" in PAPER
        peers = pd.read_csv(RECORD / "peers.csv").set_index("peer")
        count = re.match(r"[\d,]+", peers.task["LINE"])[0]
        assert f"({count} random ones, greatest difference {peers.difference['LINE']:.0e})" in PAPER

    def test_every_source_that_is_cited_is_listed(self):
        listed = re.findall(r"@\w+\{(\w+),", (ROOT / "docs/release/paper.bib").read_text(encoding="utf-8"))
        cited = set(re.findall(r"@([a-z]+)[;\]]", PAPER))
        assert cited == set(listed)

    def test_is_no_longer_than_two_pages(self):
        assert 300 < len(PAPER.split()) < 1000


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_distribution_with_litter_or_gaps_is_noticed(tmp_path, kind):
    good = ["qmodels/cli.py", "phasefit/py.typed", "validation/__init__.pyi", "LICENSE"]
    for names, wrong in ((good, 0), (good[:-1], 1), ([*good, "a/__pycache__/b.pyc"], 1)):
        if kind == "wheel":
            archive = tmp_path / f"{len(names)}{wrong}.whl"
            with zipfile.ZipFile(archive, "w") as out:
                for name in names:
                    out.writestr(name, "")
        else:
            archive = tmp_path / f"{len(names)}{wrong}.tar.gz"
            with tarfile.open(archive, "w:gz") as out:
                for name in names:
                    out.addfile(tarfile.TarInfo(f"qmodels-0/{name}"))
        assert len(contents_wrong(names_of(archive))) == wrong
