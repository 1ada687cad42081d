"""Closed networks of a computation centre and a disk centre."""

from qmodels.networks.product_form import disk_group_throughput

__all__ = ["disk_group_throughput"]
