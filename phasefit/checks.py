"""Arguments, checked once and in one voice: a number in, a float out, or a `ModelError`."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Iterable
from math import fsum, inf, isfinite, ldexp
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.errors import ModelError

#: How far from one a sum of given probabilities may be and still count as rounded.
ROUNDING: Final = 1e-10
#: The largest order that a family or an operation builds: its rates take 128 MB.
MAX_ORDER: Final = 4000

Kind = TypeVar("Kind")


def check_fields(record: object, check: Callable[..., Any], *names: str, **limits: Any) -> None:
    """Check fields of a frozen dataclass, each kept as the check returns it.

    Parameters
    ----------
    record : object
        Whose fields they are.
    check : callable
        Takes the name of a field, its value and the limits, as `real_number` does.
    *names : str
        Of the fields, checked in this order.
    **limits : object
        For the check.

    Raises
    ------
    ModelError
        If a field is not what it has to be.
    """
    for name in names:
        object.__setattr__(record, name, check(name, getattr(record, name), **limits))


def check_given(record: object, check: Callable[..., Any], *names: str, **limits: Any) -> None:
    """Check fields of a frozen dataclass as `check_fields` does, those left out that are None.

    Parameters
    ----------
    record : object
        Of a frozen dataclass, in its ``__post_init__``.
    check : callable
        Check of one value, called as ``check(name, value, **limits)``.
    *names : str
        Fields.
    **limits : object
        For the check.
    """
    check_fields(record, check, *(name for name in names if getattr(record, name) is not None), **limits)


def real_array(name: str, value: ArrayLike, *, infinite: bool = False, least: float = -inf) -> Array:
    """Return `value` as a fresh array of floats without NaN, and without infinities unless allowed.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : array_like
        Real numbers, any shape.
    infinite : bool
        Whether infinities are allowed.
    least : float
        Smallest number that is allowed.

    Raises
    ------
    ModelError
        If it is not such an array; the message names the first bad place.
    """
    try:
        array_in = np.asarray(value)
    except ValueError as error:
        raise ModelError(f"{name} must be an array of numbers: {error}") from None
    if array_in.dtype.kind not in "iuf":
        raise ModelError(f"{name} must be real numbers, got {value!r:.80}")
    array = np.array(array_in, dtype=float)
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        at = f"[{', '.join(map(str, where))}]" if where else ""
        kind = "a number" if infinite else "a finite number"
        raise ModelError(f"{name}{at} is {array[where]}, not {kind}")
    if array.size and array.min() < least:
        raise ModelError(f"{name} must be >= {least:g}, got {array.min():.6g}")
    return array


def real_vector(name: str, value: ArrayLike, *, least: float = -inf) -> Array:
    """Return `value` as a fresh, non-empty vector of finite floats.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : (n,) array_like
        Real numbers.
    least : float
        Smallest number that is allowed.

    Raises
    ------
    ModelError
        If it is no such vector.
    """
    vector = real_array(name, value, least=least)
    if vector.ndim != 1 or vector.size == 0:
        raise ModelError(f"{name} must be a non-empty vector, got shape {vector.shape}")
    return vector


def real_number(name: str, value: float, *, above: float = -inf, least: float = -inf) -> float:
    """Return `value` as a finite float greater than `above` and at least `least`.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : float
        The number to check.
    above, least : float
        Bounds: one that must be exceeded and one that may be met.

    Raises
    ------
    ModelError
        If it is no finite number or out of bounds.
    """
    array = real_array(name, value)
    if array.ndim:
        raise ModelError(f"{name} must be one number, got shape {array.shape}")
    number = float(array)
    if not number > above:
        raise ModelError(f"{name} must be > {above:g}, got {number:.6g}")
    if number < least:
        raise ModelError(f"{name} must be >= {least:g}, got {number:.6g}")
    return number


def positive_vector(name: str, value: ArrayLike) -> Array:
    """Return `value` as a fresh vector of finite floats above zero.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : (n,) array_like
        Real numbers.

    Raises
    ------
    ModelError
        If it is no such vector; the message names the smallest entry.
    """
    vector = real_vector(name, value)
    if vector.min() <= 0.0:
        worst = int(vector.argmin())
        raise ModelError(f"{name}[{worst}] must be > 0, got {vector[worst]:.6g}")
    return vector


def probabilities(name: str, value: ArrayLike) -> Array:
    """Return `value` as a fresh array, of any shape, of numbers in [0, 1].

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : array_like
        Real numbers, any shape.

    Raises
    ------
    ModelError
        If one lies outside.
    """
    array = real_array(name, value)
    outside = array[(array < 0.0) | (array > 1.0)]
    if outside.size:
        raise ModelError(f"{name} must be in [0, 1], got {outside[0]:.6g}")
    return array


def probability_vector(name: str, value: ArrayLike, *, beside: float = 0.0) -> Array:
    """Return `value` as probabilities that sum to one, together with `beside`.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : (n,) array_like
        Probabilities; their sum may be off by 1e-10 and is then corrected.
    beside : float
        Probability that is not in the vector.

    Raises
    ------
    ModelError
        If one is negative, or the sum is another.
    """
    vector = real_vector(name, value)
    if vector.min() < 0.0:
        worst = int(vector.argmin())
        raise ModelError(f"{name}[{worst}] must be >= 0, got {vector[worst]:.6g}")
    total, goal = fsum(vector), 1.0 - beside
    if abs(total - goal) > ROUNDING:
        raise ModelError(
            f"{name} must sum to {goal:.12g}, got {total:.12g}; divide it by its sum"
            if beside == 0.0
            else f"{name} must sum to {goal:.12g} beside {beside:.6g}, got {total:.12g}"
        )
    return vector * (goal / total) if total > 0.0 else vector


def whole_number(name: str, value: int, *, least: int, most: float = inf) -> int:
    """Return `value` as an int from `least` to `most`; a float is refused even when it is whole.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : int
        The number to check; numpy's whole numbers count.
    least, most : int
        Smallest and largest number allowed.

    Raises
    ------
    ModelError
        If it is no whole number, or out of this range.
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ModelError(f"{name} must be a whole number, got {value!r:.80}")
    if number < least:
        raise ModelError(f"{name} must be >= {least}, got {number}")
    if number > most:
        raise ModelError(f"{name} must be <= {most}, got {number}")
    return number


def boolean(name: str, value: object) -> bool:
    """Return `value` as a bool; numbers and texts are refused.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        The value to check.

    Raises
    ------
    ModelError
        If it is neither true nor false.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ModelError(f"{name} must be True or False, got {value!r:.60}")
    return bool(value)


def instance_of(
    name: str, value: object, kind: type[Kind] | tuple[type[Kind], ...], called: str = ""
) -> Kind:
    """Return `value` if it is an object of a class.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        The value to check.
    kind : type or tuple of type
        Of what class it is to be, or of which.
    called : str
        What that is called, by default its name.

    Raises
    ------
    ModelError
        If it is of another.
    """
    if not isinstance(value, kind):
        called = called or getattr(kind, "__name__", "")
        raise ModelError(f"{name} must be a {called}, got {value!r:.60}")
    return value


def share(name: str, value: float, *, zero: bool = True, one: bool = True) -> float:
    """Return `value` as a float from 0 to 1.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : float
        The share to check.
    zero, one : bool
        Whether the ends are allowed.

    Raises
    ------
    ModelError
        If it is outside; the message says what a percentage would be as a share.

    Examples
    --------
    >>> share("level", 0.95, zero=False, one=False)
    0.95
    >>> share("level", 95, one=False)
    Traceback (most recent call last):
    phasefit.errors.ModelError: level must be in [0, 1), got 95; 95 % is 0.95
    """
    number = real_number(name, value)
    if 0.0 < number < 1.0 or (zero and number == 0.0) or (one and number == 1.0):
        return number
    interval = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
    percent = number if 1.0 < number < 100.0 else 65.0
    raise ModelError(
        f"{name} must be in {interval}, got {number:.6g}; {percent:.6g} % is {percent / 100.0:.6g}"
    )


def nearest(wrong: object, allowed: Iterable[str], *, most: int = 1) -> list[str]:
    """Return the names that are spelled most like a wrong one, whatever their case.

    Parameters
    ----------
    wrong : object
        The name that is not among those allowed.
    allowed : iterable of str
        The names that there are.
    most : int
        Largest number of names to return.
    """
    by_folded = {name.casefold(): name for name in reversed(list(allowed))}
    close = difflib.get_close_matches(str(wrong)[:60].casefold(), by_folded, most, cutoff=0.5)
    return [by_folded[name] for name in close]


def suggestion(wrong: object, allowed: Iterable[str], before_all: str = "known are") -> str:
    """Return the words to add to "there is no such name": the name probably meant, or all of them.

    Parameters
    ----------
    wrong : object
        The name that is not among those allowed.
    allowed : iterable of str
        The names that there are.
    before_all : str
        Words before the list of all names.

    Examples
    --------
    >>> suggestion("procesors", ["processors", "disks"])
    'did you mean processors?'
    >>> suggestion("memory", ["processors", "disks"])
    'known are processors, disks'
    """
    names = list(allowed)
    near = nearest(wrong, names)
    return f"did you mean {near[0]}?" if near else f"{before_all} {', '.join(names) or 'none'}"


def one_of(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of the names allowed.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        The name to check, in exactly one of the allowed spellings.
    allowed : iterable of str
        The names that there are.

    Raises
    ------
    ModelError
        If it is not; the message lists the names and points to the one spelled like it.

    Examples
    --------
    >>> one_of("discipline", "FCFS", ("ps", "fcfs"))
    Traceback (most recent call last):
    phasefit.errors.ModelError: discipline must be one of ps, fcfs, got 'FCFS'; did you mean 'fcfs'?
    """
    names = list(allowed)
    if isinstance(value, str) and value in names:
        return value
    near = nearest(value, names)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ModelError(f"{name} must be one of {', '.join(names)}, got {value!r:.60}{hint}")


def _folded(name: str) -> tuple[str, str]:
    """Return a name without case and blanks, its underscores dashes; and without these as well."""
    kept = "".join(c for c in name.casefold() if not c.isspace()).replace("_", "-")
    return kept, kept.replace("-", "")


def spelled(value: object, allowed: Iterable[str]) -> str | None:
    """Return the name among those allowed that `value` spells; None for none, or for one of two.

    Case, blanks and the difference of dashes and underscores do not count, nor do dashes where no
    two names differ in them alone.

    Parameters
    ----------
    value : object
        A text; anything else spells nothing.
    allowed : iterable of str
        The names that there are.

    Examples
    --------
    >>> spelled("Speed_Scaled", ["speed-scaled", "exact"]), spelled("SP(4, 16)", ["SP(4,16)"])
    ('speed-scaled', 'SP(4,16)')
    """
    names = list(allowed)
    if not isinstance(value, str) or value in names:
        return value if isinstance(value, str) else None
    for level in (0, 1):
        wanted = _folded(value[:200])[level]
        matches = [name for name in names if _folded(name)[level] == wanted]
        if matches:
            return matches[0] if len(matches) == 1 else None
    return None


def named(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return the name among those allowed that `value` spells, in any case, with any dashes or none.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        The name to check.
    allowed : iterable of str
        The names that there are.

    Raises
    ------
    ModelError
        As `one_of`, which takes nothing but the name itself.

    Examples
    --------
    >>> named("family", "Hyper_Erlang", ("hyper-erlang", "coxian"))
    'hyper-erlang'
    """
    names = list(allowed)
    return one_of(name, spelled(value, names) or value, names)


def within_order(what: str, order: int) -> int:
    """Return `order`, unless its matrices would be too large to hold.

    Parameters
    ----------
    what : str
        Name of what has this order, for the message.
    order : int
        Number of phases.

    Raises
    ------
    ModelError
        If `order` exceeds 4000.
    """
    if order > MAX_ORDER:
        raise ModelError(
            f"{what} would have order {order}; T alone would take {8e-9 * order**2:.3g} GB, the "
            f"largest order allowed is {MAX_ORDER}"
        )
    return order


def exit_rate(i: int, row: Array) -> float:
    """Return minus the sum of row i of T, correctly rounded; zero if rounding could explain it.

    Parameters
    ----------
    i : int
        Index of the row, also for the message.
    row : (n,) ndarray
        Rates of the row, its diagonal included.

    Raises
    ------
    ModelError
        If the row sums to more than zero, or its sum overflows.
    """
    try:
        rate = -fsum(row)
    except OverflowError:
        raise ModelError(f"row {i} of T overflows; use a longer unit of time") from None
    if rate < ROUNDING * row[i]:
        raise ModelError(f"row {i} of T must sum to at most 0, got {-rate:.6g}")
    noise = np.finfo(float).eps * np.count_nonzero(row) * -row[i]
    return rate if rate > noise or np.count_nonzero(row) == 1 else 0.0


def finite_rates(rates: Array) -> Array:
    """Return `rates`, unless one is infinite.

    Parameters
    ----------
    rates : ndarray
        Per unit of time, any shape.

    Raises
    ------
    ModelError
        If a rate has left the range of floats.
    """
    if not np.isfinite(rates).all():
        raise ModelError("a rate is too large for a float; use a longer unit of time")
    return rates


def reciprocals(means: Array) -> Array:
    """Return the rates of exponentials with these `means`.

    Parameters
    ----------
    means : ndarray
        Above zero, any shape.
    """
    with np.errstate(over="ignore"):
        return finite_rates(1.0 / means)


def in_range(what: str, value: float, exponent: int) -> float:
    """Return ``value * 2**exponent``, if a float can hold it.

    Parameters
    ----------
    what : str
        Name of the result, for the message.
    value : float
        Not negative.
    exponent : int
        Power of two.

    Raises
    ------
    ModelError
        If the result over- or underflows.
    """
    try:
        result = ldexp(value, exponent)
    except OverflowError:
        result = inf
    if not isfinite(result) or (result == 0.0 and value > 0.0):
        size = "small" if result == 0.0 else "large"
        raise ModelError(f"{what} is too {size} for a float; change the unit of time")
    return result


def moment_order(k: int) -> int:
    """Return the order of a raw moment; beyond 150 its factorial is too large for a float.

    Parameters
    ----------
    k : int
        The order.

    Raises
    ------
    ModelError
        If it is no whole number from 0 to 150.
    """
    k = whole_number("k", k, least=0)
    if k > 150:
        raise ModelError(f"k must be <= 150, got {k}: its factorial leaves the range of floats")
    return k


def at_times(x: ArrayLike, before: float, at_last: float, value: Callable[[Array], Any]) -> Any:
    """Return a function of time: `value` of the finite times, `before` below zero, `at_last` at infinity.

    Parameters
    ----------
    x : array_like
        Times, any shape.
    before, at_last : float
        Answers below zero and at infinity.
    value : callable
        Answers of times (n,) of which each is finite and not negative.

    Raises
    ------
    ModelError
        If a time is NaN.
    """
    times = real_array("x", x, infinite=True)
    inside = (times >= 0.0) & (times < inf)
    result = np.asarray(np.where(times < 0.0, before, at_last))
    if inside.any():
        result[inside] = value(times[inside])
    return shaped(result)


def shaped(values: Array) -> Any:
    """Return a float for what was asked by a number, else the array.

    Parameters
    ----------
    values : ndarray
        Any shape, that of the argument of the caller's caller.
    """
    return float(values) if np.ndim(values) == 0 else values
