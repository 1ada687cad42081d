"""The registered strategies by what they look at, for tests of what a family has in common."""

from validation.allocation import STRATEGIES, BoxStrategy, GridStrategy, PlaneStrategy

#: Those that see which nodes are free, and those of them that are for 2-D meshes alone.
GRID = {name: cls for name, cls in STRATEGIES.items() if issubclass(cls, PlaneStrategy)}
PLANE = {name: cls for name, cls in GRID.items() if not issubclass(cls, GridStrategy)}
#: Those that work on 3-D meshes too.
SPACE = {name: cls for name, cls in GRID.items() if issubclass(cls, GridStrategy)}
#: Those that give one free box.
BOXES = {name: cls for name, cls in STRATEGIES.items() if issubclass(cls, BoxStrategy)}
