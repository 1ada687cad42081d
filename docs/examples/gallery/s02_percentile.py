"""
Which policy keeps 95 % of the jobs below two minutes?
======================================================

Fixed partitions of a machine, each as large a share of the disks as of the processors, so that the
answers are exact. More in :doc:`/how-to/recommend-a-policy`.
"""

import matplotlib.pyplot as plt

from qmodels import Burst, Phase, Program, SpaceSharing, System, Workload
from qmodels.policies.choice.recommendation import recommend

program = Program([Phase(io=Burst(128.0, law="min(d, p/4)"), cpu=Burst(512.1, sequential=0.1))])
machine = System(processors=128, disks=32, min_processors=8)
jobs = Workload.from_scv(program, demand_scv=4.0)  # demands of variance 4 x mean^2
policies = [SpaceSharing(k, k) for k in (1, 2, 4, 8, 16)]
found = recommend(machine, jobs, load=0.5, objective="p95", constraint="p95_s < 120", candidates=policies)
print(found.reason)

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
kept = [row.status != "exceeds a limit" for row in found.rows]
ax.barh(
    [row.label for row in found.rows],
    [row.value for row in found.rows],
    color=["#3b6ea8" if ok else "#c9c9c9" for ok in kept],
)
ax.axvline(120.0, color="black", lw=1)
ax.set_xlabel("95th percentile of the response [s]; grey: over the limit")
