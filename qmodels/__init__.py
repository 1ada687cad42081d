"""Scaling of parallel programs, and response times of parallel machines under a policy."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
