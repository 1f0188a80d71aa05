"""Functions and methods whose arguments are those of a class, so that options are written once.

Type checkers, `help` and the reference show the arguments of the class for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

M = TypeVar("M")
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def takes_arguments_of(make: Callable[P, M]) -> Callable[[Callable[[M], R]], Callable[P, R]]:
    """Return a decorator for a function of one argument, which `make` constructs.

    The decorated function takes the arguments of `make` instead.
    """

    def decorate(function: Callable[[M], R]) -> Callable[P, R]:
        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> R:
            return function(make(*arguments, **options))

        _show_arguments(call, function, make)
        return call

    return decorate


def method_takes_arguments_of(
    make: Callable[P, M],
) -> Callable[[Callable[[S, M], R]], Callable[Concatenate[S, P], R]]:
    """Return a decorator that does the same for a method, after `self`."""

    def decorate(method: Callable[[S, M], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def call(self: S, *arguments: P.args, **options: P.kwargs) -> R:
            return method(self, make(*arguments, **options))

        _show_arguments(call, method, make)
        return call

    return decorate


def _show_arguments(
    call: Callable[..., Any], function: Callable[..., Any], make: Callable[..., Any]
) -> None:
    shown = signature(function)
    # The last parameter is what `make` returns.
    *kept, _ = shown.parameters.values()
    parameters = (*kept, *signature(make).parameters.values())
    call.__dict__["__signature__"] = shown.replace(parameters=parameters)
