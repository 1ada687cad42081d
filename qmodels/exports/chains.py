"""The chain behind a prediction, rate by rate: for programs that read JSON, for PRISM and Storm."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.sparse import issparse

from qmodels.errors import ModelError
from qmodels.markov.sparse_rates import Block, as_dense
from qmodels.networks.sizes import most_that

if TYPE_CHECKING:
    from qmodels.markov import QBD
    from qmodels.policies import Prediction

#: What the JSON form says it is; the version grows when a field changes its meaning.
SCHEMA: Final = "qmodels.queue"
VERSION: Final = 1
#: Chance of more jobs than a chain that is cut off can hold.
CUT_OFF: Final = 1e-12
#: Most rates that are written; a file of them has some hundred megabytes.
MOST_RATES: Final = 2_000_000


def as_json(prediction: Prediction) -> str:
    """Return the blocks of the chain as lists of [row, column, rate], beside what the solution says.

    Parameters
    ----------
    prediction : Prediction
        Of a policy whose chain is known.
    """
    chain = _checked_chain(prediction)
    blocks = {name: [_triples(block) for block in getattr(chain, name)] for name in ("up", "local", "down")}
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "unit": "jobs, seconds",
        "policy": prediction.policy,
        "model": prediction.model,
        "method": prediction.method,
        "load": prediction.load,
        "arrivals": prediction.solved.queue.arrivals.to_dict(),
        "about": "quasi-birth-death chain: level = jobs in the system; up[k], local[k] and "
        "down[k - 1] hold the rates from level k to k + 1, within it and to k - 1; the last of "
        "each hold for all further levels",
        "phases": [block.shape[0] for block in chain.local],
        **blocks,
        "answer": {
            "mean_jobs": prediction.mean_jobs,
            "mean_response": prediction.mean_response,
            "mean_wait": prediction.mean_wait,
            "capacity": prediction.capacity,
        },
    }
    return json.dumps(fields, allow_nan=False) + "\n"


def as_prism(prediction: Prediction) -> str:
    """Return the chain in PRISM's language, cut off at a level that is hardly ever reached.

    Parameters
    ----------
    prediction : Prediction
        Of a policy whose chain is known.
    """
    chain = _checked_chain(prediction)
    boundary = len(chain.local) - 1
    top = max(boundary + 1, _level_reached_by(prediction, CUT_OFF))
    phases = max(block.shape[0] for block in chain.local)
    lines = [
        f"// {prediction.policy} at load {prediction.load:.6g}: mean jobs {prediction.mean_jobs:.10g}",
        f"// mean response {prediction.mean_response:.10g} s, {prediction.method}; jobs beyond "
        f"{top} are lost, a chance below {CUT_OFF:g}",
        "ctmc",
        "",
        "module queue",
        f"  jobs : [0..{top}] init 0;",
        f"  phase : [0..{max(phases - 1, 1)}] init 0;",
    ]
    for k, (up, local) in enumerate(zip(chain.up, chain.local, strict=True)):
        last = k == boundary
        level = f"jobs>={k}" if last else f"jobs={k}"
        lines += _commands(f"{level} & jobs<{top}" if last else level, up, "jobs'=jobs+1")
        lines += _commands(level, local, "")
    for k, down in enumerate(chain.down, start=1):
        level = f"jobs>={k}" if k == boundary + 1 else f"jobs={k}"
        lines += _commands(level, down, "jobs'=jobs-1")
    lines += ["endmodule", "", 'rewards "jobs"', "  true : jobs;", "endrewards"]
    return "\n".join(lines) + "\n"


def _checked_chain(prediction: Prediction) -> QBD:
    chain: QBD = prediction.solved.queue.chain()
    rates = sum(
        int(block.count_nonzero() if issparse(block) else np.count_nonzero(block))
        for blocks in (chain.up, chain.local, chain.down)
        for block in blocks
    )
    if rates > MOST_RATES:
        raise ModelError(
            f"the chain of {prediction.policy} has {rates} rates, more than the {MOST_RATES} that "
            f"are written; take laws of lower order, or a policy that runs fewer jobs at once"
        )
    return chain


def _level_reached_by(prediction: Prediction, chance: float) -> int:
    """Fewest jobs that are exceeded with less than this chance."""
    above = prediction.solved.chain.sf
    return most_that(lambda jobs: above(jobs) >= chance, sys.maxsize) + 1


def _commands(guard: str, block: Block, level: str) -> list[str]:
    """One command for each phase from which there is a way; a stay is no way."""
    lines, rates = [], as_dense(block)
    rows, columns = np.nonzero(rates)
    starts = np.searchsorted(rows, np.arange(len(rates) + 1))
    for i, (first, last) in enumerate(pairwise(starts.tolist())):
        ways = []
        for j in columns[first:last].tolist():
            change = [level] if level else []
            if j != i:
                change.append(f"phase'={j}")
            if change:
                ways.append(f"{float(rates[i, j])!r} : {' & '.join(f'({c})' for c in change)}")
        if ways:
            lines.append(f"  [] {guard} & phase={i} -> {' + '.join(ways)};")
    return lines


def _triples(block: Block) -> list[list[float | int]]:
    rates = as_dense(block)
    rows, columns = np.nonzero(rates)
    return [
        [i, j, rate]
        for i, j, rate in zip(rows.tolist(), columns.tolist(), rates[rows, columns].tolist(), strict=True)
    ]
