"""Laws of greatest likelihood by EM: mixtures of Erlang laws, Coxian and general ones."""

from phasefit.em.result import EMResult
from phasefit.em.search import LARGEST, Family, maximise

__all__ = ["LARGEST", "EMResult", "Family", "maximise"]
