"""Which processors a job gets: strategies, each from its paper, and measures of their layouts."""

from validation.allocation.base import (
    STRATEGIES,
    AbstractStrategy,
    GridStrategy,
    PlaneStrategy,
    Request,
    load_strategy,
    register,
)
from validation.allocation.binary_tree import (
    BT,
    DBT,
    SBT,
    SCBT,
    DependentBT,
    DependentDBT,
    DependentSBT,
    IndependentBT,
    IndependentDBT,
    IndependentSBT,
)
from validation.allocation.boxes import BoxStrategy, near_cubic, nodes_of_box, orientations
from validation.allocation.columns import PLAS, MCElongated
from validation.allocation.contiguous import BF, BL, FF, TBF, TBL, TFF
from validation.allocation.contract import StrategyCheck, check_strategy
from validation.allocation.curves import Hilbert, Snake
from validation.allocation.mbs import MBS
from validation.allocation.mc import MC
from validation.allocation.metrics import (
    dispersal,
    free_squares,
    free_tree_blocks,
    has_nested_free_blocks,
    is_compact,
    is_spatially_compact,
    job_balance,
    least_free_squares,
    mean_pairwise_distance,
    nodes_affected,
    pairwise_distance,
    span,
    system_balance,
)
from validation.allocation.paging import Paging
from validation.allocation.random import Random

__all__ = [
    "BF",
    "BL",
    "BT",
    "DBT",
    "FF",
    "MBS",
    "MC",
    "PLAS",
    "SBT",
    "SCBT",
    "STRATEGIES",
    "TBF",
    "TBL",
    "TFF",
    "AbstractStrategy",
    "BoxStrategy",
    "DependentBT",
    "DependentDBT",
    "DependentSBT",
    "GridStrategy",
    "Hilbert",
    "IndependentBT",
    "IndependentDBT",
    "IndependentSBT",
    "MCElongated",
    "Paging",
    "PlaneStrategy",
    "Random",
    "Request",
    "Snake",
    "StrategyCheck",
    "check_strategy",
    "dispersal",
    "free_squares",
    "free_tree_blocks",
    "has_nested_free_blocks",
    "is_compact",
    "is_spatially_compact",
    "job_balance",
    "least_free_squares",
    "load_strategy",
    "mean_pairwise_distance",
    "near_cubic",
    "nodes_affected",
    "nodes_of_box",
    "orientations",
    "pairwise_distance",
    "register",
    "span",
    "system_balance",
]
