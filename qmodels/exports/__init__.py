"""A predicted queue written for other tools, so that they can check or extend the prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from phasefit.checks import named
from qmodels.exports import chains, simulators
from qmodels.policies.models.described import described_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from qmodels.policies import Prediction

#: How each form is written, by its name.
FORMS: Final[dict[str, Callable[[Prediction], str]]] = {
    "json": chains.as_json,
    "prism": chains.as_prism,
    "line": simulators.as_line,
    "jmt": simulators.as_jmt,
}


def export_prediction(prediction: Prediction, form: str) -> str:
    """Return the queue behind a prediction as the text that another tool reads.

    Parameters
    ----------
    prediction : Prediction
        Of any policy and model.
    form : {"json", "prism", "line", "jmt"}
        "json" and "prism" hold the chain that was solved, of any policy; PRISM and Storm solve
        it again, cut off where less than 1e-12 of the jobs would be. "line" and "jmt" hold the
        arrivals, the servers and the law of their service as a model of LINE 3 (Python) or of
        JMT (.jsimg); they need running jobs that never slow each other down.

    Returns
    -------
    str
        The answer to expect stands in it: as fields, or as a comment. Where the prediction draws
        its jobs from a log, it is that of independent jobs with the log's gaps and sizes, of which
        the queue is.

    Raises
    ------
    ModelError
        If the form is unknown or cannot hold the queue; the message names one that can.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> whole = predict(SpaceSharing(1, 1), System(16, 16), work, load=0.5)
    >>> print(export_prediction(whole, "prism").splitlines()[0])
    // SP(1,1) at load 0.5: mean jobs 1.031746032
    """
    return FORMS[named("form", form, list(FORMS))](_of_its_queue(prediction))


def _of_its_queue(prediction: Prediction) -> Prediction:
    """Return the prediction with the means of its queue, whose jobs are independent."""
    solved, rate = prediction.solved, prediction.arrival_rate
    if described_times(solved) is None:
        return prediction
    jobs, waiting = solved.chain.mean_level(), solved.chain.mean_excess()
    return replace(
        prediction,
        mean_jobs=jobs,
        mean_response=jobs / rate,
        mean_wait=waiting / rate,
        method=f"{solved.method}, of independent jobs",
    )
