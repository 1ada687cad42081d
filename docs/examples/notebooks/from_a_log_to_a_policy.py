"""
From a job log to a policy
==========================

Two weeks of a batch system's log. What do its jobs ask of the machine, may they be taken for
random, and how should the machine be divided?
"""

# %%
# What is in the log
# ------------------
# The reader says what it left out, and which column it took for the size.

import matplotlib.pyplot as plt
import numpy as np

from phasefit import fit
from phasefit.plotting import ccdf
from qmodels import SpaceSharing, System, Workload, predict
from qmodels.io import read_jobs
from qmodels.io.subjects import read_subject

log = read_jobs("../site-log/sacct.txt", unit="cores", status="completed")
for line in log.warnings[:4]:
    print("-", line)
print(log.summary()[["n", "mean", "scv"]].round(2))

# %%
# Do successive jobs depend on each other?
# ----------------------------------------
# In most logs they do, and a model of independent times leaves that out. This log, which was made,
# raises no doubt: the list is empty.

print(log.doubts())
hours = np.cumsum(log.interarrivals) / 3600
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.hist(hours, bins=np.arange(0, hours.max(), 12))
ax.set(xlabel="hours since the first job", ylabel="jobs in 12 hours")

# %%
# A law for the gaps
# ------------------
# *Law* means a probability distribution. Here a single stage is enough: an exponential law.

report = fit(log.interarrivals)
print(report.distribution)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ccdf(report, ax=ax)

# %%
# How to divide the machine
# -------------------------
# A log does not say how a job would run on other numbers of processors; timed runs do. Equal parts
# of 128 processors and 16 disks, with gaps and work of the variability that the log shows.

program = read_subject("../runs.csv", mixed=True).program
machine = System(processors=128, disks=16, min_processors=8)
arrivals = float(log.summary().loc["interarrival [s]", "scv"])
scv = float(log.summary().loc["work [processor-s]", "scv"])
jobs = Workload.from_scv(program, demand_scv=scv, arrival_scv=arrivals)
loads = [0.1, 0.2, 0.3, 0.4, 0.5]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for k in (1, 2, 4, 8):
    answers = [predict(SpaceSharing(k, k), machine, jobs, load=load) for load in loads]
    ax.plot(loads, [one.mean_response for one in answers], "o-", label=f"SP({k},{k})")
    print(f"SP({k},{k}):", [round(one.mean_response, 1) for one in answers])
ax.set(xlabel="load", ylabel="mean response [s]")
ax.legend()

# %%
# **The decision.** At the load of this log, .36, divide the machine in two: one part for all is
# slower by nearly half, four parts are slower, too, and overtake two only near load .5. The times
# are those of the timed programs, not yet scaled to the log; ``qmodels recommend`` does that, and
# tries all policies.
