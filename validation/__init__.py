"""The trial of the models: simulators, published figures, and predictions held against both."""

import lazy_loader

from qmodels import former

former.install()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
