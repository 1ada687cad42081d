"""
Can I trust a prediction?
=========================

The mean response predicted by an approximate model, and simulated job by job with 95 % intervals.
More in :doc:`/explanation/how-far-to-trust`.
"""

import matplotlib.pyplot as plt
import numpy as np

from qmodels import Burst, Phase, Program, SpaceSharing, System, Workload, predict
from validation import simulate

program = Program([Phase(io=Burst(128.0, law="min(d, p/4)"), cpu=Burst(512.1, sequential=0.1))])
machine = System(processors=128, disks=32, min_processors=8)
jobs = Workload.from_scv(program, demand_scv=2.0)
policy = SpaceSharing(8, 4)  # pairs of processor partitions share their disks
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
loads = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
told = [predict(policy, machine, jobs, load=load) for load in loads]
ax.plot(loads, [one.mean_response for one in told], label=f"predicted, {told[0].method}")
seen = [simulate(policy, machine, jobs, load=load, seed=1).mean_response for load in loads]
ax.errorbar(
    loads, [one.mean for one in seen], [one.half_width for one in seen], fmt="o", capsize=3, label="simulated"
)
off = max(abs(a.mean_response / b.mean - 1) for a, b in zip(told, seen, strict=True))
print(f"stated error {told[-1].recorded_error():.0%}, farthest from the simulation {off:.1%}")
ax.set(xlabel="load", ylabel="mean response [s]", title=policy.label)
ax.legend()
