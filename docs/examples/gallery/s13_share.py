"""
How long when others use the storage too?
=========================================

A program timed alone and a few times together: how long take up to 32 that start together, and is it
better to start fewer at a time? More in :doc:`/how-to/share-a-storage`.
"""

import matplotlib.pyplot as plt

from qmodels.io.shared_runs import read_shared_runs
from qmodels.plotting.sharing import time_against_programs
from qmodels.storage import batches, forecast_sharing

runs = read_shared_runs("../shared-runs.csv", stages=["compute", "write"])
found = forecast_sharing(runs, [1, 2, 4, 8, 16, 32])
for n, seconds in zip(found.numbers, found.seconds, strict=True):
    print(f"{n:>2} together: {seconds:.4g} s")
best = batches(found, 32)[0]
print(f"{best.at_once} at a time finish 32 after {best.seconds:.4g} s")
_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
time_against_programs(found, runs, ax=ax)
