"""Classes by name: what can be named in files and on the command line, one's own included."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from phasefit.checks import nearest, spelled
from phasefit.errors import ModelError

Kind = TypeVar("Kind")
Entry = TypeVar("Entry", bound=type[Any])


class Registry(dict[str, type[Kind]]):
    """A dictionary from names to the classes that have them.

    Parameters
    ----------
    base : type
        What every entry derives from; its abstract methods are those that an entry must have.
    what : str
        What an entry is called in errors, such as "strategy".
    check : callable, optional
        Called with a complete class; raises ModelError unless it can be an entry.
    order : callable, optional
        The key by which entries are kept in order; else they stay in the order of entering.

    Examples
    --------
    >>> class Shape:
    ...     name = "shape"
    >>> shapes = Registry(Shape, "shape")
    >>> @shapes.register
    ... class Circle(Shape):
    ...     name = "circle"
    >>> shapes.find("Circle") is Circle, list(shapes)
    (True, ['circle'])
    >>> shapes.find("cirle")
    Traceback (most recent call last):
    phasefit.errors.ModelError: no shape is called 'cirle'; did you mean 'circle'? There are
    circle; a class of your own is named 'module:Class'
    """

    def __init__(
        self,
        base: type[Any],
        what: str,
        *,
        check: Callable[[Any], None] | None = None,
        order: Callable[[type[Kind]], Any] | None = None,
    ) -> None:
        super().__init__()
        self.base, self.what = base, what
        self._check, self._order = check, order

    def register(self, entry: Entry) -> Entry:
        """Enter a class under its name; use as a decorator.

        Parameters
        ----------
        entry : type
            The class.

        Returns
        -------
        type
            The class itself.

        Raises
        ------
        ModelError
            If another class has that name, or this one is not complete.
        """
        self._check_complete(entry, repr(entry))
        name = entry.name
        taken = self.get(name, entry)
        if (taken.__module__, taken.__qualname__) != (entry.__module__, entry.__qualname__):
            raise ModelError(f"there is a {self.what} {name!r} already; choose another name")
        self[name] = entry
        if self._order is not None:
            order = self._order
            entries = sorted(self.items(), key=lambda named: order(named[1]))
            self.clear()
            self.update(entries)
        return entry

    def spelling(self, text: str) -> str | None:
        """Return the name in the registry that a text spells (see `phasefit.checks.spelled`), or None.

        Parameters
        ----------
        text : str
            The text.
        """
        return spelled(text, self)

    def find(self, text: str) -> type[Kind]:
        """Return the class that `text` names.

        Parameters
        ----------
        text : str
            A name in the registry, in any case and with any dashes, or "module:Class" for a class
            that can be imported.

        Returns
        -------
        type
            A subclass of `base`.

        Raises
        ------
        ModelError
            If there is none, or it is not complete.

        Examples
        --------
        >>> from qmodels.policies import POLICIES
        >>> POLICIES.find("sp") is POLICIES.find("qmodels.policies.space_sharing:SpaceSharing")
        True
        """
        if not isinstance(text, str):
            raise ModelError(f"a {self.what} is named by text, got {text!r:.60}; there are {', '.join(self)}")
        if ":" in text:
            return self._imported(text)
        name = self.spelling(text)
        if name is not None:
            return self[name]
        near = nearest(text, self)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ModelError(
            f"no {self.what} is called {text!r:.60}{hint} There are {', '.join(self)}; a class of "
            f"your own is named 'module:Class'"
        )

    def made(self, entry: Kind | str) -> Kind:
        """Return the entry itself, or what the class of a name makes without arguments.

        Parameters
        ----------
        entry : object or str
            An object of such a class, or a name in any spelling.

        Returns
        -------
        object
            Of a class in the registry, or named by its module.

        Raises
        ------
        ModelError
            As `find` does, or if the class needs arguments.

        Examples
        --------
        >>> from qmodels.policies import MODELS
        >>> MODELS.made("Exact").rank
        10
        """
        if isinstance(entry, self.base):
            return entry  # type: ignore[no-any-return]
        named = self.find(entry)  # type: ignore[arg-type]
        try:
            return named()
        except TypeError as error:
            raise ModelError(
                f"{self.what} {entry!r:.80} cannot be made without arguments ({error}); make it "
                f"and give it as it is"
            ) from error

    def _imported(self, text: str) -> type[Kind]:
        module, _, name = text.partition(":")
        try:
            entry = getattr(importlib.import_module(module), name)
        except (Exception, SystemExit) as error:  # whatever the user's module does on import
            raise ModelError(f"{self.what} {text!r:.120} cannot be loaded: {error!s:.200}") from error
        self._check_complete(entry, repr(text))
        return entry  # type: ignore[no-any-return]

    def _check_complete(self, entry: Any, text: str) -> None:
        if not (isinstance(entry, type) and issubclass(entry, self.base)):
            raise ModelError(f"{text:.120} is no subclass of {self.base.__name__}")
        missing = sorted(getattr(entry, "__abstractmethods__", ()))
        if not isinstance(getattr(entry, "name", None), str):
            missing.append("name")
        if missing:
            raise ModelError(f"{self.what} {entry.__qualname__} lacks {', '.join(missing)}")
        if self._check is not None:
            self._check(entry)
