"""Programs that share a storage: how long they take together, learnt from runs alone and together."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
