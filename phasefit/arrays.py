"""Names of arrays by the type of their entries, for all packages; the shape stands where they are used."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
#: Places in an array, as numpy's searches return them.
Indices: TypeAlias = NDArray[np.intp]
