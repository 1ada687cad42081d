"""A campaign's results as a CSV file, and beside it how they came about."""

from __future__ import annotations

import csv
import datetime
import json
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "record"


def processor() -> str:
    """Name of the processor, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def write_record(
    name: str,
    rows: Sequence[Mapping[str, object]],
    *,
    command: str,
    folder: Path = FOLDER,
    **particulars: object,
) -> None:
    """Write ``NAME.csv`` and ``NAME.toml``; the CPU time is that of this process."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    asked = ["git", "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(asked, cwd=FOLDER, capture_output=True, text=True, check=False).stdout
    facts = {
        "commit": commit.strip(),
        "command": command,
        "date": datetime.date.today().isoformat(),
        "cpu_seconds": round(time.process_time(), 1),
        "processor": processor(),
        **particulars,
    }
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in facts.items()]  # a subset of TOML
    (folder / f"{name}.toml").write_text("".join(lines), encoding="utf-8")
