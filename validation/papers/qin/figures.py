"""Figures 1 to 9 of Qin et al.: mean slowdowns of balancers over rates, faults and programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from validation.cluster.runs import Traces
from validation.papers.base import Experiment, Finding, Outcome, RunOptions
from validation.papers.qin import claims, plotting, setup
from validation.papers.qin.campaign import Sweep, X, sweep

_RATE, _FAULTS = "I/O rate", "page-fault rate"


def _over_rates(
    rates: Sequence[float], parallel: float, names: Sequence[str], options: RunOptions, what: str
) -> Sweep:
    chosen = (rates[0], rates[-1]) if options.quick else rates
    sources: Mapping[X, Traces] = {
        rate: setup.io_traces(rate, parallel, quick=options.quick) for rate in chosen
    }
    return sweep(_RATE, sources, names, options, what=what)


def _kind(parallel: float) -> str:
    return f"{parallel:.0%} parallel jobs" if parallel else "sequential jobs"


def _outcome(found: Sweep, findings: Sequence[Finding], title: str, log: bool = False) -> Outcome:
    table = found.cells()
    return Outcome(table, tuple(findings), lambda: plotting.lines(table, found.axis, title, log=log))


def batch(options: RunOptions, *, parallel: float, number: int) -> Outcome:
    """IOCM-RE and the batch system over the I/O rate; also below the rates of the figure."""
    names, what = ("IOCM-RE", "BS"), f"figure {number}"
    found = _over_rates(setup.BATCH_RATES, parallel, names, options, what)
    findings = [
        *claims.rise(found, "Q-9", names),
        *claims.lowest(found, "Q-9", "IOCM-RE", ("BS",)),
    ]
    rates = (*setup.LOWER_RATES, *setup.BATCH_RATES)
    whole = _over_rates(rates, parallel, names, options, what)
    if not parallel:
        findings.append(claims.crossover(whole, setup.DISK_LOAD))
    else:
        alone = _over_rates(setup.BATCH_RATES, 0.0, names, options, what)
        findings.append(claims.wider_gap(alone, found))
    return _outcome(whole, findings, _kind(parallel), log=True)


def schemes(options: RunOptions, *, parallel: float, number: int) -> Outcome:
    """IOCM-RE, its rivals and no balancing over the I/O rate."""
    found = _over_rates(setup.RATES, parallel, setup.SCHEMES, options, f"figure {number}")
    findings = [
        *claims.rise(found, "Q-10", setup.SCHEMES),
        *claims.lowest(found, "Q-10", "IOCM-RE", ("memory", "CPU", "NLB")),
    ]
    if number == 4:
        few = _over_rates(setup.RATES, 0.3, setup.SCHEMES, options, "figure 3")
        findings += claims.more_parallel(few, found, setup.SCHEMES)
    return _outcome(found, findings, _kind(parallel))


def memory(options: RunOptions, *, parallel: float, number: int) -> Outcome:
    """The same over the rate of page faults, where memory is short; and where I/O is low at all."""
    faults = setup.PAGE_FAULTS
    chosen = (faults[0], faults[-1]) if options.quick else faults
    sources: Mapping[X, Traces] = {
        rate: setup.memory_traces(rate, parallel, quick=options.quick) for rate in chosen
    }
    found = sweep(_FAULTS, sources, setup.SCHEMES, options, what=f"figure {number}")
    calm: Mapping[X, Traces] = {parallel: setup.cpu_traces(parallel, quick=options.quick)}
    low = sweep("parallel", calm, ("IOCM-RE", "CPU"), options, what="hardly any I/O")
    findings = [*claims.memory_pays(found), *claims.no_loss(low)]
    return _outcome(found, findings, _kind(parallel), log=True)


def preemption(options: RunOptions, *, parallel: float, number: int) -> Outcome:
    """IOCM-PM, IOCM-RE and their rivals over the I/O rate."""
    names = setup.WITH_PREEMPTION
    found = _over_rates(setup.RATES, parallel, names, options, f"figure {number}")
    findings = [
        *claims.lowest(found, "Q-12", "IOCM-PM", names[1:]),
        *claims.preemption_pays(found),
        *claims.least_sensitive(found),
    ]
    return _outcome(found, findings, _kind(parallel))


def programs(options: RunOptions) -> Outcome:
    """Five applications, one at a time, under four balancers."""
    sources: Mapping[X, Traces] = {
        name: setup.application_traces(name, quick=options.quick) for name in setup.APPLICATION_NAMES
    }
    found = sweep("application", sources, setup.WITH_PREEMPTION, options, what="figure 9")
    table = found.cells()
    return Outcome(table, tuple(claims.applications(found)), lambda: plotting.bars(table, "application"))


def _figure(number: int, claim: str, run: Callable[[RunOptions], Outcome]) -> Experiment:
    return Experiment(
        name=f"qin-fig{number}",
        source=f"Qin, Jiang, Zhu, Swanson, Cluster 2003, figure {number}",
        claim=claim,
        run=run,
    )


#: Each is run with two shares of parallel jobs: what is claimed, and number, share and words of both figures.
_PAIRS = (
    (
        batch,
        "IOCM-RE has lower slowdowns than a batch system",
        ((1, 0.0, "with sequential jobs"), (2, 0.3, "with 30 % parallel jobs")),
    ),
    (
        schemes,
        "IOCM-RE beats CPU- and memory-based balancing of I/O-intensive jobs",
        ((3, 0.3, "30 % parallel"), (4, 0.6, "60 % parallel")),
    ),
    (
        memory,
        "where memory is short, those who balance memory are far ahead",
        ((5, 0.3, "30 % parallel"), (6, 0.6, "60 % parallel")),
    ),
    (
        preemption,
        "moving running tasks (IOCM-PM) is better still",
        ((7, 0.3, "30 % parallel"), (8, 0.6, "60 % parallel")),
    ),
)
#: In the order of the paper.
EXPERIMENTS: tuple[Experiment, ...] = (
    *(
        _figure(number, f"{claim}, {kind}", partial(run, parallel=parallel, number=number))
        for run, claim, figures in _PAIRS
        for number, parallel, kind in figures
    ),
    _figure(9, "balancing I/O pays in five applications, least in LU", programs),
)
