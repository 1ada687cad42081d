"""Compiled loops of the cluster: the fluid state of its nodes, the rules of balancers, events."""
