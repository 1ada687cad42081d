"""
How many jobs may share this file system?
=========================================

Sixteen jobs write 5.3 TB each at 20 GB/s. What is the best interval, and how much work is lost to
collisions? More in :doc:`/how-to/share-a-file-system`.
"""

import matplotlib.pyplot as plt
import numpy as np

from qmodels import Checkpointing, Storage, best_interval, jobs_that_fit, predict_checkpoints

storage = Storage(20e9)  # bytes per second
hours = np.geomspace(0.5, 8.0, 25)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for jobs in (1, 8, 16):
    each = [Checkpointing(5.29e12, interval=3600 * h, mtbf=89081.0, downtime=600.0) for h in hours]
    found = [predict_checkpoints(one, storage, jobs=jobs) for one in each]
    ax.plot(hours, [one.goodput for one in found], label=f"{jobs} jobs")
    ax.fill_between(hours, [one.low for one in found], [one.high for one in found], alpha=0.2)
best = best_interval(each[0], storage, jobs=16)
print(f"best interval of 16 jobs: {best.interval / 3600:.1f} h, Daly's {best.daly / 3600:.1f} h")
print(f"jobs that keep 85 % of their time: {jobs_that_fit(each[12], storage, goodput=0.85)}")
ax.set(xscale="log", xlabel="work between two checkpoints [h]", ylabel="share of time as work")
ax.legend()
