"""Names of arrays by the type of their entries, and rows of tables, for all packages.

The shape of an array stands where it is used.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
#: Places in an array, as numpy's searches return them.
Indices: TypeAlias = NDArray[np.intp]

AnyArray = TypeVar("AnyArray", bound=NDArray[Any])


def read_only(array: AnyArray) -> AnyArray:
    """Return the array itself, which nobody can write to from now on.

    Parameters
    ----------
    array : ndarray
        Of any shape.
    """
    array.flags.writeable = False
    return array


def record(*fields: tuple[str, type]) -> np.dtype[Any]:
    """Return the type of a row of a compiled loop's table: names, parted by spaces, and the type of each.

    Parameters
    ----------
    *fields : tuple of str and type
        In the order in which they lie in memory.

    Returns
    -------
    numpy.dtype
        Of the type `numpy.record`, so that fields are attributes without the compiler too.

    Examples
    --------
    >>> record(("first last", np.int64), ("seconds", np.float64)).names
    ('first', 'last', 'seconds')
    """
    return np.dtype((np.record, [(name, kind) for names, kind in fields for name in names.split()]))
