"""Phase-type laws: what they are, how they combine, how they are fitted to data."""

import lazy_loader

from phasefit import _cache_place

_cache_place.settle()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
