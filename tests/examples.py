"""How many examples a test with a number of its own draws: all with ``--full``, else a part."""

from hypothesis import settings

#: What a test without a number of its own draws with ``--full``.
FULL = 100


def examples(number: int, least: int = 5) -> int:
    """Return so many examples with ``--full``, and in the gate the same part as of all others."""
    return max(least, number * settings.default.max_examples // FULL)
