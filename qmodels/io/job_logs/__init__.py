"""Logs of batch systems, one file for each format; `read_jobs` reads any of them."""

# In the order in which formats are tried: those that nothing else looks like come first.
from qmodels.io.job_logs import standard, sacct, pbs, lsf, sge, batsim, csv_map  # noqa: F401, I001
from qmodels.io.job_logs.formats import FORMATS, UNITS, AbstractJobFormat, Choices, known_by
from qmodels.io.job_logs.reading import read_jobs

__all__ = ["FORMATS", "UNITS", "AbstractJobFormat", "Choices", "known_by", "read_jobs"]
