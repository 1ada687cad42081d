"""Names of the bursts of a table of runs whose phases have names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def burst_names(frame: pd.DataFrame) -> dict[tuple[Any, Any], str]:
    """Return the name of each burst by the number of its phase and its kind; empty where none has one.

    Parameters
    ----------
    frame : DataFrame
        Columns phase, kind and, where phases have names, phase_name.

    Returns
    -------
    names : dict of (int, str) to str
        The name of the phase, with the kind behind it where a phase has bursts of both.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(1, "cpu", "solve"), (2, "io", "dump"), (2, "cpu", "dump")]
    >>> burst_names(pd.DataFrame(rows, columns=["phase", "kind", "phase_name"]))
    {(1, 'cpu'): 'solve', (2, 'io'): 'dump io', (2, 'cpu'): 'dump cpu'}
    """
    if "phase_name" not in frame:
        return {}
    bursts = frame[["phase", "kind", "phase_name"]].drop_duplicates().itertuples(index=False)
    names = {(phase, kind): str(name) for phase, kind, name in bursts}
    phases = [phase for phase, _ in names]
    return {
        (phase, kind): f"{name} {kind}" if phases.count(phase) > 1 else name
        for (phase, kind), name in names.items()
    }
