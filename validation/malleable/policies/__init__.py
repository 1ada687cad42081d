"""Malleable policies: each a class in a file of its own, found because it stands here."""

from qmodels.entries import load_entries


def all_entered() -> None:
    """Bring in every file, so that its class is in `MALLEABLE`."""
    load_entries(__name__)
