"""The log format of CONTRIBUTING in its places, as `pytest -p tests.page_format` finds it there."""

from __future__ import annotations

import importlib
import re
import tempfile
from pathlib import Path

from tests import batch_logs

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
#: Where the format lies while the tests of this process run; gone with it.
_FOLDER = tempfile.TemporaryDirectory(prefix="page-format-")


def examples(heading: str) -> list[str]:
    """The Python of a section, block by block."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def put(code: str, package: str, file: str, folder: Path) -> list[str]:
    """Write a file of a package into a folder; return the package's folders with that one."""
    (folder / file).write_text(code, encoding="utf-8")
    return [*importlib.import_module(package).__path__, str(folder)]


def pytest_configure() -> None:
    """Enter the format and its writer before tests of all formats are collected."""
    code, writer = examples("Add a log format")
    folder = Path(_FOLDER.name)
    package = importlib.import_module("qmodels.io.job_logs")
    package.__path__ = put(code, package.__name__, "plain.py", folder)
    importlib.import_module("qmodels.io.job_logs.plain")
    exec(compile(writer, str(PAGE), "exec"), vars(batch_logs))
    batch_logs.WRITERS["plain"] = batch_logs.plain
    batch_logs.SAID["plain"] = {"unit": "cores"}
