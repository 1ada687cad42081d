"""Files in, plain tables or objects out."""

from qmodels.io.darshan import read_darshan
from qmodels.io.job_logs import read_jobs
from qmodels.io.runs import RunTable, read_runs
from qmodels.io.scenario import Scenario, load_scenario
from qmodels.io.swf import JobLog, read_swf, write_swf
from qmodels.io.traces import read_trace

__all__ = [
    "JobLog",
    "RunTable",
    "Scenario",
    "load_scenario",
    "read_darshan",
    "read_jobs",
    "read_runs",
    "read_swf",
    "read_trace",
    "write_swf",
]
