"""Reference cases of our own making; see README.md."""

from pathlib import Path

#: The folder of the small cases.
KEPT = Path(__file__).resolve().parent
