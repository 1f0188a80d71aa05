"""Who calls a service: roles of the table, and the ids of their tenants.

An authenticator turns the headers of a request into a `Caller`, or raises. Every request then runs
by `store.as_principal`, so an authenticator decides who somebody is, and never what they may do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from keyfold.errors import Unauthenticated
from keyfold.store._principals import describe_principal

_ADVICE = "Send `Authorization: Bearer TOKEN`, or `X-Api-Key: KEY`, as the service accepts it."


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: roles of the table, and the ids of their tenants.

    `name` is for logs: the subject of a token, or the name of a key. `expires` is when a token ends,
    in seconds since 1970; answers that take long, such as events, end then. `principal` is the same
    text for the same roles and ids, in any order: it owns cursors, idempotency keys and rate limits.

    >>> one = Caller(("customer", "seller"), {"user": "ada"}, name="Ada's phone")
    >>> one.principal == Caller(("seller", "customer"), {"user": "ada"}).principal
    True
    """

    roles: tuple[str, *tuple[str, ...]]
    ids: Mapping[str, str]
    name: str = field(default="", compare=False)
    expires: float | None = field(default=None, compare=False)
    principal: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "principal", describe_principal(self.roles, self.ids))


class Authenticator(Protocol):
    """Tells who sent a request."""

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Return who sent a request, by its headers: lower-case names and Latin-1 text.

        Raises Unauthenticated (401), CallerRefused (403) and AuthenticationUnavailable (503).
        """
        ...


class CredentialAuthenticator(Authenticator, Protocol):
    """An authenticator of one kind of credentials, such as bearer tokens."""

    def recognizes(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request has credentials of this kind, valid or not."""
        ...


@dataclass(frozen=True, slots=True)
class FixedCaller:
    """Takes every request for one caller's: for development, `--as`."""

    caller: Caller

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:  # noqa: ARG002 - Authenticator's signature
        """Return the one caller."""
        return self.caller


@dataclass(frozen=True, slots=True)
class Nobody:
    """Refuses every request: what a service has that was started without any authentication."""

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:  # noqa: ARG002 - Authenticator's signature
        """Raise Unauthenticated."""
        raise Unauthenticated(
            "This service has no way to tell who calls",
            "Start it with --auth, --keys, or --as for development.",
        )


@dataclass(frozen=True, slots=True)
class Authenticators:
    """Asks the authenticator that recognizes the credentials of a request.

    A request with credentials of two kinds is refused: what is between a client and the service might
    believe the other one.
    """

    accepted: Sequence[CredentialAuthenticator]

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Return who sent a request; raises Unauthenticated if nobody recognizes its headers."""
        found = [each for each in self.accepted if each.recognizes(headers)]
        if len(found) == 1:
            return await found[0].authenticate(headers)
        if found:
            raise Unauthenticated("The request has both a token and an API key", "Send one.")
        if "authorization" in headers or "x-api-key" in headers:
            raise Unauthenticated("The request's credentials are of no kind accepted here", _ADVICE)
        raise Unauthenticated("The request has no token and no API key", _ADVICE)
