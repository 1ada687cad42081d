"""A queue of alike servers for LINE and JMT, which solve or simulate it by methods of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from phasefit.forms import jmt_strategy, line_law
from qmodels.errors import ModelError

if TYPE_CHECKING:
    from phasefit import MAP, PhaseType
    from qmodels.policies import Prediction

CLASS = "jobs"
_STRATEGIES = "jmt.engine.NetStrategies"
_SCHEMAS, _SCHEMA = "http://www.w3.org/2001/XMLSchema-instance", "xsi:noNamespaceSchemaLocation"


def as_line(prediction: Prediction) -> str:
    """Return a program in Python for LINE 3: run it with ``python FILE``.

    Parameters
    ----------
    prediction : Prediction
        Of a policy whose queue is known.
    """
    arrivals, service, servers = _servers(prediction, "LINE")
    return f'''"""{_title(prediction)}"""

from line_solver import (
    MAP, PH, Network, OpenClass, Queue, SchedStrategy, Sink, SolverMAM, Source,
)

model = Network("queue")
source, queue = Source(model, "arrivals"), Queue(model, "servers", SchedStrategy.FCFS)
sink = Sink(model, "departures")
queue.set_number_of_servers({servers})
jobs = OpenClass(model, "{CLASS}")
source.set_arrival(jobs, {line_law(arrivals)})
queue.set_service(jobs, {line_law(service)})
model.link(Network.serial_routing(source, queue, sink))

if __name__ == "__main__":
    # exact for one server; SolverCTMC(model, cutoff=...) also for several
    print(SolverMAM(model).avg_table())
'''


def as_jmt(prediction: Prediction) -> str:
    """Return a .jsimg file, for JSIMgraph or ``java -cp JMT.jar jmt.commandline.Jmt sim``.

    Parameters
    ----------
    prediction : Prediction
        Of a policy whose queue is known.
    """
    arrivals, service, servers = _servers(prediction, "JMT")
    archive = ElementTree.Element(
        "archive", {"xmlns:xsi": _SCHEMAS, _SCHEMA: "Archive.xsd"}, name="queue.jsimg"
    )
    archive.append(ElementTree.Comment(f" {_title(prediction)} "))
    # JMT's command takes the name of the schema off this element, and fails where there is none.
    sim = ElementTree.SubElement(
        archive,
        "sim",
        {_SCHEMA: "SIMmodeldefinition.xsd"},
        disableStatisticStop="false",
        logDecimalSeparator=".",
        logDelimiter=",",
        logPath="",
        logReplaceMode="0",
        maxSamples="10000000",
        name="queue.jsimg",
        polling="1.0",
        seed="1",
    )
    ElementTree.SubElement(
        sim, "userClass", name=CLASS, priority="0", referenceSource="arrivals", type="open"
    )
    source = _node(sim, "arrivals")
    _per_class(_section(source, "RandomSource"), f"{_STRATEGIES}.ServiceStrategy", "ServiceStrategy").append(
        jmt_strategy(arrivals, "ServiceTimeStrategy")
    )
    _section(source, "ServiceTunnel")
    _router(source)
    _station(_node(sim, "servers"), service, servers)
    _section(_node(sim, "departures"), "JobSink")
    for name, kind in (("Number of Customers", "station"), ("Response Time", "station")):
        ElementTree.SubElement(
            sim,
            "measure",
            alpha="0.01",
            name=f"servers_{CLASS}_{name}",
            nodeType=kind,
            precision="0.03",
            referenceNode="servers",
            referenceUserClass=CLASS,
            type=name,
            verbose="false",
        )
    for origin, target in (("arrivals", "servers"), ("servers", "departures")):
        ElementTree.SubElement(sim, "connection", source=origin, target=target)
    ElementTree.indent(archive)
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
        + ElementTree.tostring(archive, encoding="unicode")
        + "\n"
    )


def _servers(prediction: Prediction, tool: str) -> tuple[PhaseType | MAP, PhaseType, int]:
    """Arrivals, law of a service, and the number of servers."""
    queue = prediction.solved.queue
    at_one_speed = queue.running.at_one_speed
    if at_one_speed is None or np.ptp(at_one_speed[1]) > 1e-12 * at_one_speed[1].max():
        raise ModelError(
            f"{tool} takes servers that never slow each other down, and the jobs under "
            f"{prediction.policy} do, or have stages of their own ({prediction.model} model); "
            f"export json or prism, which hold any chain"
        )
    demand, speeds = at_one_speed
    return queue.arrivals, demand.scale(1.0 / float(speeds[0])), int(speeds.size)


def _title(prediction: Prediction) -> str:
    return (
        f"{prediction.policy} at load {prediction.load:.6g}: mean jobs "
        f"{prediction.mean_jobs:.10g}, mean response {prediction.mean_response:.10g} s, "
        f"{prediction.method}"
    )


def _node(sim: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(sim, "node", name=name)


def _section(node: ElementTree.Element, kind: str) -> ElementTree.Element:
    return ElementTree.SubElement(node, "section", className=kind)


def _per_class(section: ElementTree.Element, kind: str, name: str) -> ElementTree.Element:
    """Parameter with one entry for each class, of which there is one."""
    made = ElementTree.SubElement(section, "parameter", array="true", classPath=kind, name=name)
    ElementTree.SubElement(made, "refClass").text = CLASS
    return made


def _number(
    parent: ElementTree.Element, kind: str, java: str, name: str, value: object
) -> ElementTree.Element:
    made = ElementTree.SubElement(parent, kind, classPath=f"java.lang.{java}", name=name)
    ElementTree.SubElement(made, "value").text = str(value)
    return made


def _router(node: ElementTree.Element) -> None:
    routes = _per_class(_section(node, "Router"), f"{_STRATEGIES}.RoutingStrategy", "RoutingStrategy")
    ElementTree.SubElement(
        routes,
        "subParameter",
        name="Random",
        classPath=f"{_STRATEGIES}.RoutingStrategies.RandomStrategy",
    )


def _station(node: ElementTree.Element, service: PhaseType, servers: int) -> None:
    """Queue without a limit, served in order of arrival."""
    waiting = _section(node, "Queue")
    _number(waiting, "parameter", "Integer", "size", -1)
    drops = _per_class(waiting, "java.lang.String", "dropStrategies")
    _number(drops, "subParameter", "String", "dropStrategy", "drop")
    ElementTree.SubElement(
        waiting,
        "parameter",
        name="FCFSstrategy",
        classPath=f"{_STRATEGIES}.QueueGetStrategies.FCFSstrategy",
    )
    puts = _per_class(waiting, f"{_STRATEGIES}.QueuePutStrategy", "QueuePutStrategy")
    ElementTree.SubElement(
        puts,
        "subParameter",
        name="TailStrategy",
        classPath=f"{_STRATEGIES}.QueuePutStrategies.TailStrategy",
    )
    serving = _section(node, "Server")
    _number(serving, "parameter", "Integer", "maxJobs", servers)
    visits = _per_class(serving, "java.lang.Integer", "numberOfVisits")
    _number(visits, "subParameter", "Integer", "numberOfVisits", 1)
    _per_class(serving, f"{_STRATEGIES}.ServiceStrategy", "ServiceStrategy").append(
        jmt_strategy(service, "ServiceTimeStrategy")
    )
    _router(node)
