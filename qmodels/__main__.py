"""`python -m qmodels`: the command, for where its script is not on the path."""

from __future__ import annotations

from qmodels.cli import main

if __name__ == "__main__":
    main()
