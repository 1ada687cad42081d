"""
The best policy over load and variability
=========================================

How many equal parts of a machine are best. More in :doc:`/how-to/map-the-best-policy`.
"""

import matplotlib.pyplot as plt

from qmodels import Burst, Phase, Program, SpaceSharing, System, Workload
from qmodels.policies.choice.policy_map import best_policies

program = Program([Phase(io=Burst(128.0, law="min(d, p/4)"), cpu=Burst(512.1, sequential=0.1))])
machine = System(processors=128, disks=32, min_processors=8)
jobs = Workload.from_scv(program, demand_scv=2.0)
found = best_policies(
    machine,
    jobs,
    loads=[0.1, 0.3, 0.5, 0.7],
    scvs=[0.5, 1, 2, 4, 8],
    candidates=[SpaceSharing(k, k) for k in (1, 2, 4, 8, 16)],
)
print(found.table())

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
found.plot(ax=ax)
