"""
What does an allocator cost on a mesh?
======================================

The same jobs under three strategies; messages meet on the links. More in
:doc:`/how-to/compare-strategies`.
"""

import matplotlib.pyplot as plt

from validation import Machine, Mesh, compare_strategies
from validation.jobs import PoissonStreams
from validation.machine import MixedTraffic

machine = Machine(mesh=Mesh(8, 8, io_side="west"), traffic=MixedTraffic(io_share=1.0))
jobs = PoissonStreams(jobs=150, mean_interarrival=150.0, mean_size=6.0, largest=64)
found = compare_strategies(machine, ["PLAS", "MC", "Paging"], jobs, replications=5, seed=1)
for other in ("MC", "Paging"):
    gap = found.compare(other, "PLAS", relative=True)
    print(f"{other} - PLAS: {gap.difference.mean:+.0%}, {gap.verdict}")

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
found.plot(quantity="service", ax=ax)
