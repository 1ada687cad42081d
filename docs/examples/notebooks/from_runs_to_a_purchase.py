"""
From timed runs to a purchase
=============================

A program was timed on up to 32 processors and 4 disks. Users share a machine of 64 processors and 8
disks, and there is money for one thing. What should be bought, and how sure is that?
"""

# %%
# What the runs say
# -----------------
# The table has a line for each timed burst: program, phase, kind, processors ``p``, disks ``d`` and
# seconds. A formula is learnt for each burst; answers average over all formulas that fit.

import matplotlib.pyplot as plt

from qmodels import SpaceSharing, System, Workload, predict
from qmodels.io import read_runs
from qmodels.plotting import fitted_times, surface_heatmap
from qmodels.programs import fit_runs

runs = read_runs("../runs.csv")
solver = fit_runs(runs)["solver"]
for component in solver.components:
    print(f"phase {component.phase} {component.kind}: {component.formula} s")

# %%
# Measured times as points, learnt ones as lines, dashed outside the runs.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
fitted_times(solver, disks=[1, 4], ax=ax)

# %%
# How it scales
# -------------
# The speedup over the smallest run, as none had one processor; outside the box nothing was measured.

surface = solver.surface([1, 2, 4, 8, 16, 32, 64, 128], [1, 2, 4, 8, 16])
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
surface_heatmap(surface, points=[(p, d) for p in (1, 8, 32) for d in (1, 4)], ax=ax)

far = solver.predict([64, 128], [8, 16])
for p, low, high, mark in zip(far.processors, far.time_low, far.time_high, far.mark, strict=True):
    print(f"{p:.0f} processors: {low:.1f} to {high:.1f} s, {mark}")

# %%
# When many share the machine
# ---------------------------
# Jobs queue. Four fixed partitions of the processors, each with its share of the disks: the mean
# response today, with twice the processors, and with twice the disks, for the same jobs.

today = System(processors=64, disks=8, min_processors=4)
jobs = Workload.from_scv(solver.program, demand_scv=2.0)
policy = SpaceSharing(4, 4)
now = predict(policy, today, jobs, load=0.5)
answers = {"today": now}
for name, machine in (
    ("128 processors", System(processors=128, disks=8, min_processors=4)),
    ("16 disks", System(processors=64, disks=16, min_processors=4)),
):
    answers[name] = predict(policy, machine, jobs, arrival_rate=now.arrival_rate)
for name, answer in answers.items():
    print(f"{name:<15} {answer.mean_response:6.1f} s, {answer.method}")

figure, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
ax.barh(list(answers), [answer.mean_response for answer in answers.values()])
ax.set_xlabel("mean response [s]")

# %%
# **The decision.** Buy processors: the response falls to less than half, while disks alone bring
# little. But 128 processors are beyond the runs, so borrow a machine for one run there before the
# order goes out.
