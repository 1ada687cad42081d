"""Phase-type laws: what they are, how they combine, how they are fitted to data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
