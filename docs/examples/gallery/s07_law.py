"""
From a log to a law
===================

The run times of two weeks of a site, a law fitted to them, and the law as text for another tool.
More in :doc:`/how-to/use-other-tools`.
"""

import matplotlib.pyplot as plt

from phasefit import fit
from phasefit.plotting import ccdf
from qmodels.io import read_jobs

log = read_jobs("../site-log/sacct.txt", unit="cores", status="completed")
report = fit(log.runtimes)
print(report.distribution)
print(report.distribution.to("matlab")[:72], "...")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ccdf(report, ax=ax)
