"""`@dataclass(frozen=True, slots=True)` for programs that start once per command.

The standard one writes and compiles up to eight functions for each class, and importing it loads
`inspect`. For the values that travel through `fairlead run` that was half of its start-up. This
one has the same meaning for what we use: frozen, with slots, compared and shown by its fields.
Type checkers see the standard one; `dataclasses.fields`, `replace` and `asdict` work on both.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

TYPE_CHECKING = False  # importing `typing` for it costs a third of Python's start
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import Any
else:

    def dataclass(*, frozen, slots, kw_only=False):
        """Make a class whose instances are values. There is no other kind here."""
        if not (frozen and slots):
            raise TypeError("only frozen classes with slots; for others there is dataclasses")
        return lambda cls: _value_class(cls, kw_only)

    def field(*, default_factory):
        """A default that is made for each instance."""
        return _Made(default_factory)

    def replace(value, /, **changes):
        """The same value with some fields changed."""
        names = type(value).__value_fields__
        return type(value)(**{name: getattr(value, name) for name in names} | changes)


_MISSING = object()
_WORTH_COMPILING = 64  # instances; a program that starts once per command makes fewer of a class


class _Made:
    """Marks a field whose default is made anew for each instance."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def _value_class(cls: type, kw_only: bool) -> type:
    """The class again, with slots, which can't be added to one that exists."""
    body = dict(vars(cls))
    own = [name for name, kind in body.get("__annotations__", {}).items() if "ClassVar" not in kind]
    inherited = getattr(cls, "__value_fields__", {})
    fields = inherited | {name: body.pop(name, _MISSING) for name in own}
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    body |= {
        "__slots__": tuple(name for name in own if name not in inherited),
        "__match_args__": () if kw_only else tuple(fields),
        "__value_fields__": fields,
        "__dataclass_fields__": _FieldsWhenAsked(),
        "__init__": _initializer(cls.__name__, fields, kw_only),
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__getstate__": _state,
        "__setstate__": _set_state,
        "__repr__": body.get("__repr__", _shown),
        "__eq__": body.get("__eq__", _equal),
        "__hash__": body.get("__hash__") or _hashed,
        "__value__": _getter(tuple(fields)),
    }
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _initializer(name: str, fields: dict[str, Any], kw_only: bool) -> Callable[..., None]:
    order, set_field = tuple(fields), object.__setattr__
    made = 0

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        nonlocal made
        made += 1
        if made == _WORTH_COMPILING:
            _compile_where(__init__, type(self), fields, kw_only)
        if given:
            if kw_only or len(given) > len(order):
                at_most = 0 if kw_only else len(order)
                raise TypeError(f"{name}() takes {at_most} positional values, got {len(given)}")
            for field_name, value in zip(order, given):  # noqa: B905 - fewer are checked below
                if field_name in named:
                    raise TypeError(f"{name}() got {field_name!r} twice")
                set_field(self, field_name, value)
        for field_name in order[len(given) :] if given else order:
            value = named.pop(field_name, _MISSING) if named else _MISSING
            if value is _MISSING:
                value = fields[field_name]
                if value is _MISSING:
                    raise TypeError(f"{name}() misses {field_name!r}")
                if type(value) is _Made:
                    value = value.make()
            set_field(self, field_name, value)
        if named:
            raise TypeError(f"{name}() has no field {next(iter(named))!r}")
        if (check := getattr(self, "__post_init__", None)) is not None:
            check()

    return __init__


def _compile_where(
    general: Callable[..., None], used: type, fields: dict[str, Any], kw_only: bool
) -> None:
    """In the class that has the general one; `used` may be a subclass."""
    required = [name for name, default in fields.items() if default is _MISSING]
    if kw_only or list(fields)[: len(required)] == required:
        owner = next(one for one in used.__mro__ if vars(one).get("__init__") is general)
        setattr(owner, "__init__", _compiled(owner, fields, kw_only))  # noqa: B010


def _compiled(made: type, fields: dict[str, Any], kw_only: bool) -> Callable[..., None]:
    """The same, written out for one class: several times as fast, once it is compiled."""
    known: dict[str, Any] = {"_missing": _MISSING}
    words, lines = ["self", *(["*"] if kw_only and fields else [])], []
    for name, default in fields.items():
        known[f"_set_{name}"] = getattr(made, name).__set__
        if type(default) is _Made:
            known[f"_make_{name}"] = default.make
            words.append(f"{name}=_missing")
            lines.append(f"_set_{name}(self, _make_{name}() if {name} is _missing else {name})")
            continue
        known[f"_default_{name}"] = default
        words.append(name if default is _MISSING else f"{name}=_default_{name}")
        lines.append(f"_set_{name}(self, {name})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "".join(f"\n    {line}" for line in lines or ["pass"])
    exec(f"def __init__({', '.join(words)}):{body}", known)  # names of fields, nothing else
    compiled: Callable[..., None] = known["__init__"]
    compiled.__qualname__ = f"{made.__qualname__}.__init__"  # stands in what Python complains of
    return compiled


def _getter(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """All fields at once, for comparing. A static method, or it would be bound."""
    return staticmethod(attrgetter(*names) if names else _nothing)


def _nothing(_: object) -> tuple[()]:
    return ()


def _refuse(self: Any, name: str, value: object = None) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be changed")


def _equal(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    get: Callable[[object], object] = self.__value__
    return get(self) == get(other)


def _hashed(self: Any) -> int:
    return hash((type(self), self.__value__(self)))


def _shown(self: Any) -> str:
    fields = (f"{name}={getattr(self, name)!r}" for name in self.__value_fields__)
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__value_fields__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__value_fields__, state, strict=True):
        object.__setattr__(self, name, value)


class _FieldsWhenAsked:
    """What the functions of `dataclasses` look for, made when one of them does."""

    def __get__(self, instance: object, owner: Any) -> dict[str, Any]:
        import dataclasses
        from functools import partial

        specs: list[Any] = []  # the default by a function: it need not be hashable
        for name, default in owner.__value_fields__.items():
            if default is _MISSING:
                specs.append((name, object))
            elif type(default) is _Made:
                made = dataclasses.field(default_factory=default.make)
                specs.append((name, object, made))
            else:
                same = dataclasses.field(default_factory=partial(_itself, default))
                specs.append((name, object, same))
        model = dataclasses.make_dataclass(owner.__name__, specs, kw_only=True)
        found: dict[str, Any] = model.__dataclass_fields__  # type: ignore[attr-defined]
        owner.__dataclass_fields__ = found
        return found


def _itself(value: object) -> object:
    return value
