"""
A strategy of one's own
=======================

The strategy of ``docs/examples/diagonal.py``, held against the rules of all strategies, and drawn
beside one of them. More in :doc:`/how-to/add-a-strategy`.
"""

import sys

import matplotlib.pyplot as plt

from validation.allocation import PLAS, check_strategy, load_strategy
from validation.allocation.plotting import job_map
from validation.mesh import Mesh, Occupancy

sys.path.append("..")  # where diagonal.py is; a command looks in the current folder by itself
Diagonal = load_strategy("diagonal:Diagonal")
print(check_strategy(Diagonal).table())

figure, panels = plt.subplots(1, 2, figsize=(7, 3.6), layout="constrained")
for ax, strategy in zip(panels, (Diagonal(), PLAS()), strict=True):
    held = Occupancy(Mesh(8, 8, io_side="west"))
    for job, size in enumerate((6, 9, 12, 4)):
        held.occupy(job, strategy.choose(held, size))
    job_map(held, ax=ax)
    ax.set_title(strategy.name)
