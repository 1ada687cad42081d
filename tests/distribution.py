"""Look into wheel and sdist, and run the demo from each outside of the tree.

``python -m tests.distribution DIST``, which ``make dist`` does.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

#: What each must hold, and what neither may.
WANTED = ("qmodels/cli.py", "phasefit/py.typed", "validation/__init__.pyi", "LICENSE")
UNWANTED = (".venv", "__pycache__", ".nbi", ".nbc", ".git/", "docs/_build")


def names_of(archive: Path) -> list[str]:
    """Return the names of the files in a wheel or an sdist."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.namelist()
    with tarfile.open(archive) as sdist:
        return sdist.getnames()


def contents_wrong(names: list[str]) -> list[str]:
    """Return what is missing, and what should not be there."""
    missing = [f"missing: {each}" for each in WANTED if not any(name.endswith(each) for name in names)]
    return missing + [f"should not be there: {name}" for name in names for each in UNWANTED if each in name]


def demo_from(archive: Path, folder: Path) -> None:
    """Install an archive into an empty environment and run its demo where no source lies."""
    venv.create(folder / "env", with_pip=True)
    binaries = folder / "env" / "bin"
    subprocess.run([binaries / "python", "-m", "pip", "install", "-q", archive], check=True)
    subprocess.run([binaries / "qmodels", "demo", "-o", "demo"], check=True, cwd=folder)
    if not (folder / "demo" / "report.html").exists():
        raise SystemExit(f"{archive.name}: the demo left no report")


def main() -> None:
    """Check all archives of a folder."""
    archives = sorted(Path(sys.argv[1]).absolute().iterdir())
    if {archive.suffix for archive in archives} != {".whl", ".gz"}:
        raise SystemExit(f"a wheel and an sdist are expected, found {[each.name for each in archives]}")
    for archive in archives:
        if wrong := contents_wrong(names_of(archive)):
            raise SystemExit(f"{archive.name}: " + "; ".join(wrong[:5]))
        with tempfile.TemporaryDirectory() as folder:
            demo_from(archive, Path(folder))
        print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB, its demo runs")


if __name__ == "__main__":
    main()
