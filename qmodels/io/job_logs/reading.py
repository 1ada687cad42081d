"""Job logs of any known format, told apart by their content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from phasefit.checks import one_of, whole_number
from qmodels.errors import ModelError
from qmodels.io._swf_log import JobLog
from qmodels.io._swf_parse import FIELDS
from qmodels.io.files import file_name
from qmodels.io.job_logs.formats import FORMATS, UNITS, Choices, Moment, detected
from qmodels.io.job_logs.stamps import zone_of


def read_jobs(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    unit: str | None = None,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    timezone: str | None = None,
    partition: int | str | Iterable[int | str] | None = None,
    user: int | str | Iterable[int | str] | None = None,
    status: int | str | Iterable[int | str] | None = None,
    start: Moment = None,
    end: Moment = None,
    max_bytes: int | None = None,
    keep: Iterable[str] | None = None,
) -> JobLog:
    r"""Read the jobs of a batch system's log, plain or gzip.

    Parameters
    ----------
    path : path_like
    format : str, optional
        A name in `FORMATS`: ``sacct`` (Slurm, ``--parsable2``), ``pbs`` (PBS and Torque), ``lsf``
        (lsb.acct), ``sge`` (Grid Engine), ``batsim`` (JSON), ``batsim-csv`` (its jobs.csv), ``csv``
        (any table, by `columns`) or ``swf``. By default the content tells.
    unit : {"cores", "nodes", "gpus"}, optional
        What sizes count: a processor of the models. Must be said where the file tells of several.
        For SWF and Batsim, which do not say what their processors are, it is only a name.
    columns : mapping or list of str, optional
        Of a table: from job, submit, start, end (or run), cores, nodes, gpus, requested_time,
        status, user, partition to the names of its columns. Of sacct without its header row: the
        names of all columns in their order.
    timezone : str, optional
        Of times without a zone, such as "Europe/Berlin". By default they are taken as they stand,
        and jobs that run across a change of the clock are an hour off.
    partition, user : str or int, or several, optional
        Keep the jobs of these queues or partitions, of these users: names, numbers in SWF.
    status : {"completed", "failed", "cancelled"}, or several, optional
        Keep the jobs that ended so.
    start, end : datetime or str, optional
        Keep the jobs with start <= time of submission < end, on the log's own clock.
    max_bytes : int, optional
        Largest size of the text, unpacked; by default 2 GiB, and 100 MB of JSON.
    keep : iterable of str, optional
        Columns of the result that are wanted, as `columns` of `read_swf`.

    Returns
    -------
    JobLog
        As of `read_swf`. Its `warnings` begin with the format and the unit that were taken; what
        was left out follows by reason, with counts. `header` holds Format, Unit, the names of
        queues by their codes and UnixStartTime, the second at which `submit` is 0.

    Raises
    ------
    TraceFormatError
        If the file cannot be read, its format is not known, it is damaged, or it tells of several
        units and none was named; names line and field.
    ModelError
        If an argument is out of its range, or no job is selected.

    Notes
    -----
    Wait is start - submit and run is end - start, always from the time stamps. Left out and
    counted: jobs that never started, have not ended, have no processors or no time of submission,
    start before they are submitted or end before they start; rows of job steps; rows that repeat
    another one, in sacct, pbs, lsf and sge. Every element of a job array is a job; the components of
    a heterogeneous job are joined to one. Jobs that a limit or a failing node ended count as failed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = '''JobID|Submit|Start|End|State|AllocCPUS|NNodes
    ... 7|2024-03-01T08:00:00|2024-03-01T08:00:30|2024-03-01T09:00:30|COMPLETED|64|2
    ... 7.batch|||||64|1
    ... 8|2024-03-01T08:10:00|Unknown|Unknown|PENDING|32|1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "jobs.txt"
    ...     _ = file.write_text(text)
    ...     log = read_jobs(file, unit="cores")
    >>> log.jobs[["job", "wait", "run", "processors"]].iloc[0].tolist()
    [7.0, 30.0, 3600.0, 64.0]
    >>> log.warnings[1:3]
    ('Rows for steps of jobs, left out: 1.', 'Jobs that never started, left out: 1.')
    """
    file = file_name(path)
    if unit is not None:
        one_of("unit", unit, UNITS)
    if max_bytes is not None:
        max_bytes = whole_number("max_bytes", max_bytes, least=1)
    if columns is not None and not isinstance(columns, Mapping | list | tuple):
        raise ModelError(
            f"columns must be a map from what is wanted to names of columns, or a list of names; "
            f"got {columns!r:.60}"
        )
    zone_of(timezone)
    kept = None if keep is None else frozenset(one_of("keep", name, FIELDS) for name in keep)
    choices = Choices(
        unit=unit,
        columns=columns,
        timezone=timezone,
        partition=partition,
        user=user,
        status=status,
        start=start,
        end=end,
        max_bytes=max_bytes,
        keep=kept,
    )
    chosen = detected(file, choices) if format is None else FORMATS.find(format)
    return chosen.read(file, choices)
