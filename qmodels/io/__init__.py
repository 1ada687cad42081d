"""Files in, plain tables or objects out."""

from qmodels.io.runs import RunTable, read_runs
from qmodels.io.scenario import Scenario, load_scenario
from qmodels.io.swf import JobLog, read_swf, write_swf

__all__ = [
    "JobLog",
    "RunTable",
    "Scenario",
    "load_scenario",
    "read_runs",
    "read_swf",
    "write_swf",
]
