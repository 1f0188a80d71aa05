"""Placeholders for the arguments of access patterns, with which patterns are explained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel


class PlaceholderText(str):
    """The text of a placeholder, such as `{base}`; it can stand for any text."""

    __slots__ = ()


class Placeholder:
    """Stands for an argument whose value is unknown; operations on it are recorded as text.

    >>> base = Placeholder("base")
    >>> str(base), str(base.upper()), str(base + "#"), str(base[0:3])
    ('{base}', '{base.upper()}', '{base + "#"}', '{base[0:3]}')
    >>> [str(each) for each in base]
    ['{base[i]}']
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def __str__(self) -> str:
        return PlaceholderText("{" + self._text + "}")

    __repr__ = __str__

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name, name=name, obj=self)
        return Placeholder(f"{self._text}.{name}")

    def __call__(self, *arguments: object, **named: object) -> Placeholder:
        shown = [_show(each) for each in arguments]
        shown += [f"{name}={_show(each)}" for name, each in named.items()]
        return Placeholder(f"{self._text}({', '.join(shown)})")

    def __getitem__(self, key: Any) -> Any:
        if key.__class__ is slice:
            ends = ["" if end is None else _show(end) for end in (key.start, key.stop)]
            return Placeholder(f"{self._text}[{':'.join(ends)}]")
        return self._member(_show(key))

    def __add__(self, other: object) -> Placeholder:
        return Placeholder(f"{self._text} + {_show(other)}")

    def __radd__(self, other: object) -> Placeholder:
        return Placeholder(f"{_show(other)} + {self._text}")

    def __sub__(self, other: object) -> Placeholder:
        return Placeholder(f"{self._text} - {_show(other)}")

    def __rsub__(self, other: object) -> Placeholder:
        return Placeholder(f"{_show(other)} - {self._text}")

    def __mul__(self, other: object) -> Placeholder:
        return Placeholder(f"{self._text} * {_show(other)}")

    def __neg__(self) -> Placeholder:
        return Placeholder(f"-{self._text}")

    def __format__(self, spec: str) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise TypeError(
            f"{self} is a placeholder for an argument of a pattern, and cannot be compared"
        )

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self} is a placeholder for an argument of a pattern, and has no truth value"
        )

    def __iter__(self) -> Iterator[Any]:
        # One member stands for all: a pattern treats each of them alike.
        yield self._member("i")

    def _member(self, index: object) -> Any:
        """Return a placeholder for one member."""
        return Placeholder(f"{self._text}[{index}]")


def has_placeholder(value: Any) -> bool:
    """Return whether a value is a placeholder or contains one."""
    if isinstance(value, Placeholder | PlaceholderText):
        return True
    if isinstance(value, BaseModel):
        return has_placeholder(value.__dict__)
    if isinstance(value, Mapping):
        members = cast(Mapping[Any, Any], value)
        return any(map(has_placeholder, (*members.keys(), *members.values())))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(has_placeholder, cast(list[Any], value)))
    return False


def _show(value: object) -> str:
    if isinstance(value, Placeholder):
        return str(value)[1:-1]
    return f'"{value}"' if isinstance(value, str) else repr(value)
