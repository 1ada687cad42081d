"""
What does contiguity cost a pod?
================================

Jobs ask a pod of 4 x 4 x 4 blocks for boxes. How long do they wait for one, and how long where a
switch joins any free blocks? More in :doc:`/how-to/slices-of-a-pod`.
"""

import matplotlib.pyplot as plt

from validation import Pod, simulate_slices

pod = Pod((4, 4, 4))
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for k, strategy in enumerate(("any-blocks", "TBF")):
    run = simulate_slices(pod, "halving", 0.5, strategy=strategy, count=4000, replications=8)
    sizes = [str(one.shape).strip("()").replace(", ", "x") for one in run.shapes]
    waits = [one.wait for one in run.shapes]
    print(f"{strategy}: a job waits {run.wait.mean:.2f} holding times, +- {run.wait.half_width:.2f}")
    ax.bar(
        [i + 0.4 * k for i in range(len(sizes))],
        [wait.mean for wait in waits],
        0.4,
        yerr=[wait.half_width for wait in waits],
        label=strategy,
    )
ax.set_xticks([i + 0.2 for i in range(len(sizes))], sizes)
ax.set(xlabel="slice [blocks]", ylabel="mean wait [holding times]")
ax.legend()
