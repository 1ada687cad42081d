"""Meshes, tori and what contention on their links does to the jobs that share them."""

from validation.mesh.contention import FIDELITIES, Contention, contend
from validation.mesh.curves import LoadPoint, latency_curve
from validation.mesh.deadlock import DeadlockError
from validation.mesh.fluid import FluidRun, fluid
from validation.mesh.job_flows import FlowNetwork
from validation.mesh.link_load import LinkLoad, link_load
from validation.mesh.occupancy import Occupancy
from validation.mesh.results import ChannelUse, Completion
from validation.mesh.router import Router
from validation.mesh.routing import route
from validation.mesh.topology import Mesh, Sides
from validation.mesh.traffic import PATTERNS, Messages, Traffic, TrafficPhase, expand
from validation.mesh.wormhole import Network

__all__ = [
    "FIDELITIES",
    "PATTERNS",
    "ChannelUse",
    "Completion",
    "Contention",
    "DeadlockError",
    "FlowNetwork",
    "FluidRun",
    "LinkLoad",
    "LoadPoint",
    "Mesh",
    "Messages",
    "Network",
    "Occupancy",
    "Router",
    "Sides",
    "Traffic",
    "TrafficPhase",
    "contend",
    "expand",
    "fluid",
    "latency_curve",
    "link_load",
    "route",
]
