"""
How long on 64 processors?
==========================

Timed runs on up to 32 processors and 4 disks, and a forecast beyond them with its interval.
:doc:`/how-to/forecast-from-traces` makes such a table of Darshan logs.
"""

import matplotlib.pyplot as plt

from qmodels.io import read_runs
from qmodels.plotting import fitted_times
from qmodels.programs import fit_runs

solver = fit_runs(read_runs("../runs.csv"))["solver"]
far = solver.predict(64, 8)
print(f"64 processors, 8 disks: {far.time_low[0]:.1f} to {far.time_high[0]:.1f} s, {far.mark[0]}")
print(solver.next_run(targets=(64, 8), within=((1, 32), (1, 4))).advice)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
fitted_times(solver, disks=[1, 4], ax=ax)
