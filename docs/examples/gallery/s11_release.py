"""
Did a release become slower?
============================

Timed runs of two releases, compared phase by phase. More in :doc:`/how-to/compare-releases`.
"""

import matplotlib.pyplot as plt

from qmodels.io import read_runs
from qmodels.plotting.comparison import changes
from qmodels.programs import Limit, compare_runs

found = compare_runs(read_runs("../releases/old.csv"), read_runs("../releases/new.csv"))
for judged in found.judge(Limit.parse("slowdown > 5% with 95%")):
    print(judged.verdict)

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
changes(found, limit=0.05, ax=ax)
