"""Figures of fits, of laws and of tables: Axes in, Axes out, nothing shown."""

from phasefit.plotting.fits import (
    BLUE,
    GREY,
    RED,
    axes_or_new,
    ccdf,
    density,
    fit_figure,
    likelihood,
    quantiles,
)
from phasefit.plotting.records import columns, tail

__all__ = [
    "BLUE",
    "GREY",
    "RED",
    "axes_or_new",
    "ccdf",
    "columns",
    "density",
    "fit_figure",
    "likelihood",
    "quantiles",
    "tail",
]
