"""Rigid jobs served in order of arrival: what saturates the servers, and how long jobs wait."""

from qmodels.rigid.chain import Saturation, saturate
from qmodels.rigid.mix import RigidClass, RigidMix
from qmodels.rigid.waits import RigidWaits, rigid_waits

__all__ = ["RigidClass", "RigidMix", "RigidWaits", "Saturation", "rigid_waits", "saturate"]
