"""Tables of runs together on one storage: a row a run with its stages, or a row a stage."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from phasefit.checks import suggestion
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.column_maps import checked_map, delimiter_of, name_column
from qmodels.io.files import open_regular
from qmodels.memory import whole_text

if TYPE_CHECKING:
    from qmodels.storage import SharedRuns
