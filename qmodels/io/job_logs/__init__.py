"""Logs of batch systems, one file for each format; `read_jobs` reads any of them."""

from qmodels.entries import load_entries
from qmodels.io.job_logs.formats import FORMATS, UNITS, AbstractJobFormat, Choices, known_by
from qmodels.io.job_logs.reading import read_jobs

load_entries(__name__)

__all__ = ["FORMATS", "UNITS", "AbstractJobFormat", "Choices", "known_by", "read_jobs"]
