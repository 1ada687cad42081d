"""Tables of policies in a scenario, derived from the fields of the policy classes."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import pydantic
from pydantic import AfterValidator, BeforeValidator, PlainValidator, create_model
from pydantic_core import PydanticCustomError

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.io.toml_tables import ChosenTable, Count, Positive, Table
from qmodels.policies import POLICIES, AbstractPolicy, find_policy


class TimeLawTable(Table):
    """A law of a time: its mean in seconds and perhaps its scv, or alpha and T."""

    instead: ClassVar = (("mean", "scv"), ("alpha", "T"))

    mean: Positive | None = None
    scv: Annotated[float, pydantic.Field(ge=0.01, le=1e4)] | None = None
    alpha: list[float] | None = None
    T: list[list[float]] | None = None


def _listed(value: Any) -> Any:
    """One number or table where a list of them may stand."""
    return value if isinstance(value, list) else [value]


#: How a field of a policy is written in a file, by the type it has in Python: the type that is
#: checked, and the words for it on the reference page.
_WRITTEN: Final[dict[Any, tuple[Any, str]]] = {
    int: (
        Annotated[list[Count], BeforeValidator(_listed), pydantic.Field(min_length=1)],
        "number >= 1 or list of them",
    ),
    tuple[int, ...]: (
        Annotated[list[Count], pydantic.Field(min_length=1), AfterValidator(tuple)],
        "list of numbers >= 1",
    ),
    PhaseType: (
        Annotated[list[TimeLawTable], BeforeValidator(_listed), pydantic.Field(min_length=1)],
        "`{mean, scv}` or `{alpha, T}`, or a list of these tables",
    ),
    float: (float, "number"),
    bool: (bool, "true, false"),
    str: (str, "text"),
}


def written(policy: type[AbstractPolicy], field: Field[Any]) -> tuple[Any, str]:
    """Type of a policy's field in a file, and the words for it.

    Raises
    ------
    ModelError
        If no file can hold a field of that type.
    """
    hint = get_type_hints(policy)[field.name]
    options = [hint]
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
    # a field that takes a law or a tuple of laws is written as one or several laws
    options = [option for option in options if option != tuple[PhaseType, ...]] or options
    if len(options) == 1 and get_origin(options[0]) is Literal:
        words = ", ".join(f'"{value}"' for value in get_args(options[0]))
        return options[0], words
    if len(options) != 1 or options[0] not in _WRITTEN:
        raise ModelError(
            f"{policy.__name__}.{field.name}: no scenario can hold a {hint}; use whole numbers, "
            f"numbers, texts, choices (Literal), tuples of whole numbers or laws (PhaseType)"
        )
    return _WRITTEN[options[0]]


def keys(policy: type[AbstractPolicy]) -> list[Field[Any]]:
    """Fields of a policy class that its table may hold."""
    return [field for field in fields(policy) if field.init]  # type: ignore[arg-type]


def required(field: Field[Any]) -> bool:
    """Whether a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


@cache  # one small class for each kind of policy
def table_of(policy: type[AbstractPolicy]) -> type[Table]:
    """The table of a kind of policy, with a key for each of its fields."""
    found: dict[str, Any] = {"kind": (str, ...)}
    for field in keys(policy):
        kind, _ = written(policy, field)
        found[field.name] = (kind, ...) if required(field) else (kind | None, None)
    return create_model(f"{policy.__name__}Table", __base__=Table, **found)


def _known_kind(kind: str) -> str:
    if ":" not in kind and POLICIES.spelling(kind) is None:
        *others, last = (repr(name) for name in POLICIES)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise PydanticCustomError("kind", "input should be {listed}", {"listed": listed})
    find_policy(kind)
    return kind


class _KindOnly(pydantic.BaseModel):
    """A table whose kind is wrong, so that nothing can be said of its other keys."""

    model_config = pydantic.ConfigDict(strict=True)

    kind: Annotated[str, AfterValidator(_known_kind)]


def chosen(value: Any) -> type[Table]:
    """The table that the kind of one that was read asks for."""
    return table_of(find_policy(value["kind"]))


def _explained(value: Any, key: str) -> str:
    """What is said of a key that other kinds of policies have."""
    others = [name for name, policy in POLICIES.items() if key in {field.name for field in keys(policy)}]
    if not others:
        return ""
    has = "has" if len(others) == 1 else "have"
    return f"{value['kind']} has no such key, only {', '.join(others)} {has}; drop it"


def _checked(value: Any) -> Table:
    if not isinstance(value, Mapping):
        raise PydanticCustomError("table", "input should be a table")
    _KindOnly.model_validate(value)
    return chosen(value).model_validate(value)


#: A ``[[policy]]`` table, checked by the table of its own kind.
PolicyTable = Annotated[Table, PlainValidator(_checked)]
CHOSEN_POLICY: Final = ChosenTable(chosen, _explained)
