"""Files in, plain tables or objects out."""

from qmodels.io.darshan import read_darshan
from qmodels.io.job_logs import read_jobs
from qmodels.io.runs import RunTable, read_runs
from qmodels.io.scenario import Scenario, load_scenario
from qmodels.io.swf import JobLog, read_swf, write_swf
from qmodels.io.traced_runs import RunChoices, TracedRuns, read_traced_runs
from qmodels.io.traces import read_trace

__all__ = [
    "JobLog",
    "RunChoices",
    "RunTable",
    "Scenario",
    "TracedRuns",
    "load_scenario",
    "read_darshan",
    "read_jobs",
    "read_runs",
    "read_swf",
    "read_trace",
    "read_traced_runs",
    "write_swf",
]
