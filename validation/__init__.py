"""Simulators, published figures, and the comparison of the models' predictions with both.

Which simulator is for what:

- `sharing`: processors and disks under SP, DP and TS, by bursts (``qmodels simulate``).
- `malleable`: processors that move among jobs at any moment (``qmodels simulate``).
- `machine`, on the wormhole network of `mesh`: which nodes a job gets (``qmodels allocate``).
- `cluster`: which node of a time-shared cluster a task goes to (``qmodels balance``).
- `rigid`: jobs that ask a number of nodes, backfilled (``qmodels site``); `slurm`: the real one.
- `slices`: pods whose jobs ask for slices of blocks (``qmodels slices``).
- `storage`: programs that share a storage (``qmodels share``).
- `checkpoints`: jobs that save their state to one storage (``qmodels checkpoint``).
- `queues`: one queue under any of the usual disciplines; `kernel`: processes on this very machine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
