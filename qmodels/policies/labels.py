"""Policies by the labels that results print."""

from __future__ import annotations

from qmodels.errors import ModelError
from qmodels.policies.base import AbstractPolicy, find_policy


def parse_policy(label: str) -> AbstractPolicy:
    """The policy of a label, as results print it.

    Parameters
    ----------
    label : str
        Such as "SP(4,4)", "DP(2)" or "TS(4,4;M=3)", in any case, blanks do not matter; the name of
        any policy in `POLICIES`, or "module:Class", and what is in brackets.

    Returns
    -------
    AbstractPolicy

    Raises
    ------
    ModelError
        If it is no label, names no policy, or does not say all of it: an overhead of dynamic
        partitioning has a law, which no label holds.

    Examples
    --------
    >>> from qmodels.policies import parse_policy
    >>> parse_policy("sp(4, 16)").label, parse_policy("TS(2,2)").label
    ('SP(4,16)', 'TS(2,2;M=2)')
    """
    told = label.replace(" ", "")[:200] if isinstance(label, str) else ""
    name, bracket, inside = told.partition("(")
    if not (name and bracket and inside.endswith(")")):
        raise ModelError(f'a policy is named such as "SP(4,4)", got {label!r:.60}')
    kind = find_policy(name)
    try:
        return kind.from_label(inside[:-1])
    except ModelError as error:
        raise ModelError(f"policy {told}: {error}") from None


def as_policy(policy: AbstractPolicy | str) -> AbstractPolicy:
    """A policy as it is, or that of a label."""
    return parse_policy(policy) if isinstance(policy, str) else policy
