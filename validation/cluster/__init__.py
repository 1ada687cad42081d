"""A cluster of workstations whose nodes are shared: who gets which, and what that is worth."""

from validation.cluster.balancing import BALANCERS, AbstractBalancer, find_balancer
from validation.cluster.contract import BalancerCheck, check_balancer
from validation.cluster.history import ClusterRun
from validation.cluster.node import Cluster, Node
from validation.cluster.runs import BalancerComparison, BalancerRuns, compare_balancers
from validation.cluster.simulator import fluid_paces, simulate_cluster
from validation.cluster.synthetic import APPLICATIONS, ApplicationTraces, SyntheticTraces
from validation.cluster.trace import ClusterTrace, read_cluster_trace

__all__ = [
    "APPLICATIONS",
    "BALANCERS",
    "AbstractBalancer",
    "ApplicationTraces",
    "BalancerCheck",
    "BalancerComparison",
    "BalancerRuns",
    "Cluster",
    "ClusterRun",
    "ClusterTrace",
    "Node",
    "SyntheticTraces",
    "check_balancer",
    "compare_balancers",
    "find_balancer",
    "fluid_paces",
    "read_cluster_trace",
    "simulate_cluster",
]
