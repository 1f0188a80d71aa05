"""Methods that are functions of a package above the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class LateMethod(Generic[P, R_co]):
    """A function as a method: its first argument is the object that the method is called on.

    `load` returns the function. It is called when the method is used, not when the class is
    created, so the function's module may import the class. Type checkers and `help` show the
    function's parameters.
    """

    def __init__(self, load: Callable[[], Callable[Concatenate[Any, P], R_co]]) -> None:
        self._load = load

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, P], R_co]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[P, R_co]: ...
    def __get__(self, instance: object, owner: type) -> Callable[..., R_co]:
        function: Any = self._load()
        return function.__get__(instance, owner)
