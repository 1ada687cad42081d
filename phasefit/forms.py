"""Laws and arrival processes written for other tools: JSON, BuTools, LINE, MATLAB, JMT, PRISM."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, runtime_checkable
from xml.etree import ElementTree

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import named
from phasefit.errors import ModelError

#: What a law in JSON says it is.
SCHEMA: Final = "phasefit.phase-type"
#: The newest version that is read.
VERSION: Final = 1


class Rated(Protocol):
    """Law or arrival process of which a text is written: what texts of both begin with."""

    @property
    def mean(self) -> float: ...  # noqa: D102
    @property
    def scv(self) -> float: ...  # noqa: D102
    def to_json(self, *, indent: int | None = None) -> str: ...  # noqa: D102


class RatedLaw(Rated, Protocol):
    """Law of which a text is written, as `phasefit.PhaseType` is one."""

    @property
    def alpha(self) -> Array: ...  # noqa: D102
    @property
    def T(self) -> Array: ...  # noqa: D102
    @property
    def exit(self) -> Array: ...  # noqa: D102
    @property
    def atom(self) -> float: ...  # noqa: D102
    @property
    def order(self) -> int: ...  # noqa: D102


@runtime_checkable
class RatedProcess(Rated, Protocol):
    """Arrival process of which a text is written, as `phasefit.MAP` is one."""

    @property
    def D0(self) -> Array: ...  # noqa: D102
    @property
    def D1(self) -> Array: ...  # noqa: D102


def written(law: RatedLaw, form: str) -> str:
    """Return a law as the text of one of `FORMS`.

    Parameters
    ----------
    law : PhaseType
        The law, in seconds.
    form : str
        A key of `FORMS`.

    Raises
    ------
    ModelError
        If the form is not known or cannot hold the law.
    """
    return FORMS[named("form", form, list(FORMS))](law)


def written_process(process: RatedProcess, form: str) -> str:
    """Return an arrival process as the text of one of `PROCESS_FORMS`.

    Parameters
    ----------
    process : MAP
        The process, in seconds.
    form : str
        A key of `PROCESS_FORMS`.

    Raises
    ------
    ModelError
        If the form is not known.
    """
    return PROCESS_FORMS[named("form", form, list(PROCESS_FORMS))](process)


def read_json(text: str) -> Mapping[str, Any]:
    """Return the fields of a law in JSON: alpha and T, or jumps, exit and atom where it has rates.

    Parameters
    ----------
    text : str
        As `PhaseType.to_json` writes it.

    Raises
    ------
    ModelError
        If the text is no JSON, of another schema or version, or lacks a field.
    """
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ModelError(f"this is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ModelError("a law in JSON is an object with alpha and T")
    if fields.get("schema", SCHEMA) != SCHEMA:
        raise ModelError(f"schema {fields['schema']!r:.60} is not known; this reads {SCHEMA!r}")
    if fields.get("version", VERSION) != VERSION:
        raise ModelError(f"version {fields['version']!r:.20} is not known; this reads {VERSION}")
    missing = [name for name in ("alpha", "T") if name not in fields]
    if missing:
        raise ModelError(f"the law lacks {' and '.join(missing)}")
    if "exit" in fields:
        fields["jumps"] = _matrix(fields["T"])
        np.fill_diagonal(fields["jumps"], 0.0)
    return fields


def renewal_rates(law: RatedLaw, form: str) -> tuple[Array, Array]:
    """Return the rates without an event (D0) and with one (D1) of a renewal process.

    Parameters
    ----------
    law : PhaseType
        Law of the time between events.
    form : str
        Name of the form, for the message.

    Raises
    ------
    ModelError
        If the law has an atom at zero.
    """
    if law.atom > 0.0:
        raise ModelError(
            f"{law.atom:.3g} of the law lies at zero, which {form} cannot hold; export the law of "
            f"the positive values, or as json or butools"
        )
    return law.T, np.outer(law.exit, law.alpha)


def _as_json(law: Rated) -> str:
    return law.to_json(indent=1) + "\n"


def _as_butools(law: RatedLaw) -> str:
    return (
        f"import numpy as np\n\n# {_comment(law)}; with BuTools: butools.ph.MomentsFromPH(alpha, A)\n"
        f"alpha = np.matrix([{numbers(law.alpha)}])\nA = np.matrix({_rows(law.T)})\n"
    )


def _as_line(law: RatedLaw | RatedProcess) -> str:
    made = line_law(law)
    kind = made.partition("(")[0]
    return f"from line_solver import {kind}\n\n# {_comment(law)}\nlaw = {made}\n"


def line_law(law: RatedLaw | RatedProcess) -> str:
    """Return the expression that makes the law or the process in LINE's Python.

    Parameters
    ----------
    law : PhaseType or MAP
        The law, or the process.
    """
    if isinstance(law, RatedProcess):
        return f"MAP({_rows(law.D0)}, {_rows(law.D1)})"
    renewal_rates(law, "LINE")
    return f"PH([{numbers(law.alpha)}], {_rows(law.T)})"


def _as_matlab(law: RatedLaw | RatedProcess) -> str:
    without, event = _rates_of(law, "a {D0, D1} pair")
    return f"% {_comment(law)}\nlaw = {{{_semicolons(without)}, {_semicolons(event)}}};\n"


def _as_jmt(law: RatedLaw | RatedProcess) -> str:
    strategy = jmt_strategy(law, "ServiceTimeStrategy")
    ElementTree.indent(strategy)
    return ElementTree.tostring(strategy, encoding="unicode") + "\n"


def jmt_strategy(law: RatedLaw | RatedProcess, name: str) -> ElementTree.Element:
    """Return the law or the process as the strategy of a JMT section.

    Parameters
    ----------
    law : PhaseType or MAP
        The law, or the process.
    name : str
        Name of the parameter in that section.
    """
    _rates_of(law, "JMT")
    strategy = ElementTree.Element(
        "subParameter",
        classPath="jmt.engine.NetStrategies.ServiceStrategies.ServiceTimeStrategy",
        name=name,
    )
    family, label, scalars = _jmt_family(law)
    ElementTree.SubElement(strategy, "subParameter", classPath=f"jmt.engine.random.{family}", name=label)
    made = ElementTree.SubElement(
        strategy,
        "subParameter",
        classPath=f"jmt.engine.random.{family.removesuffix('Distr')}Par",
        name="distrPar",
    )
    for each, value in scalars.items():
        _jmt_number(made, each, value)
    if not scalars:
        tables: tuple[tuple[str, list[Array]], ...]
        if isinstance(law, RatedProcess):
            tables = (("D0", list(law.D0)), ("D1", list(law.D1)))
        else:
            tables = (("alpha", [law.alpha]), ("T", list(law.T)))
        for each, rows in tables:
            table = _jmt_array(made, each)
            for row in rows:
                vector = _jmt_array(table, "vector")
                for number in row.tolist():
                    _jmt_number(vector, "entry", number)
    return strategy


def _jmt_family(law: RatedLaw | RatedProcess) -> tuple[str, str, dict[str, float | int]]:
    """Class, name and numbers of JMT's own family; no numbers where there is none."""
    if isinstance(law, RatedProcess):
        return "MAPDistr", "Burst (MAP)", {}
    if law.order == 1:
        return "Exponential", "Exponential", {"lambda": float(law.exit[0])}
    chain = np.diag(-law.exit[-1:].repeat(law.order)) + np.diag(law.exit[-1:].repeat(law.order - 1), 1)
    if law.alpha[0] == 1.0 and np.array_equal(law.T, chain):
        return "Erlang", "Erlang", {"alpha": float(law.exit[-1]), "r": law.order}
    if law.order == 2 and not law.T[0, 1] and not law.T[1, 0]:
        rates = {"lambda1": float(law.exit[0]), "lambda2": float(law.exit[1])}
        return "HyperExp", "Hyperexponential", {"p": float(law.alpha[0])} | rates
    return "PhaseTypeDistr", "Phase-Type", {}


def _jmt_array(parent: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        parent, "subParameter", array="true", classPath="java.lang.Object", name=name
    )


def _jmt_number(parent: ElementTree.Element, name: str, value: float | int) -> None:
    java = "Long" if isinstance(value, int) else "Double"
    made = ElementTree.SubElement(parent, "subParameter", classPath=f"java.lang.{java}", name=name)
    ElementTree.SubElement(made, "value").text = repr(value)


def _as_prism(law: RatedLaw | RatedProcess) -> str:
    without, event = _rates_of(law, "PRISM")
    last = len(without) - 1
    first = 0 if isinstance(law, RatedProcess) else int(law.alpha.argmax())
    lines = [f"// times between events: {_comment(law)}", "ctmc", "", "module law"]
    lines.append(f"  s : [0..{last}] init {first};")
    for label, rates in (("", without), ("event", event)):
        for i, row in enumerate(rates):
            ways = [
                f"{number!r} : (s'={j})"
                for j, number in enumerate(row.tolist())
                if number > 0.0 and (label or j != i)
            ]
            if ways:
                lines.append(f"  [{label}] s={i} -> {' + '.join(ways)};")
    lines += ["endmodule", "", 'rewards "events"', "  [event] true : 1;", "endrewards"]
    return "\n".join(lines) + "\n"


def _rates_of(law: RatedLaw | RatedProcess, form: str) -> tuple[Array, Array]:
    """Rates without an event and with one."""
    return (law.D0, law.D1) if isinstance(law, RatedProcess) else renewal_rates(law, form)


def _comment(law: Rated) -> str:
    return f"mean {law.mean:.6g} s, scv {law.scv:.6g}"


def _matrix(rows: Any) -> Array:
    try:
        return np.array(rows, dtype=float)
    except (TypeError, ValueError):
        raise ModelError("T must be a square table of numbers") from None


def numbers(row: Iterable[float]) -> str:
    """Return the numbers as texts with all their digits, so that a reader gets the same floats.

    Parameters
    ----------
    row : iterable of float
        The numbers.
    """
    return ", ".join(repr(float(number)) for number in row)


def _rows(table: Array) -> str:
    return "[" + ", ".join(f"[{numbers(row)}]" for row in table) + "]"


def _semicolons(table: Array) -> str:
    return "[" + "; ".join(numbers(row) for row in table) + "]"


#: How each form is written, by its name.
FORMS: Final[dict[str, Callable[[RatedLaw], str]]] = {
    "json": _as_json,
    "butools": _as_butools,
    "line": _as_line,
    "matlab": _as_matlab,
    "jmt": _as_jmt,
    "prism": _as_prism,
}
#: The same for arrival processes.
PROCESS_FORMS: Final[dict[str, Callable[[RatedProcess], str]]] = {
    "json": _as_json,
    "line": _as_line,
    "matlab": _as_matlab,
    "jmt": _as_jmt,
    "prism": _as_prism,
}
