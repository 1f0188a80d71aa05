"""What a principal may do: who is asked, and how the service words that the answer is no."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from keyfold.errors import AccessDeniedException, ServiceError

ACCOUNT = "000000000000"


class Principal(NamedTuple):
    """Who makes a request, as far as the wire knows."""

    name: str

    @property
    def arn(self) -> str:
        """How the service would call them."""
        return f"arn:aws:iam::{ACCOUNT}:user/{self.name}"


class Authorizer(Protocol):
    """Says what principals may do, from their requests alone: nothing is read from tables."""

    # Whether it has to see what is asked for.
    reads_requests: bool

    def find_denial(
        self, principal: Principal, operation: str, request: dict[str, Any]
    ) -> ServiceError | None:
        """Return the error of a request that is denied; None if it may be carried out."""
        ...


class AdminAuthorizer:
    """Lets everything be done."""

    reads_requests = False

    def find_denial(
        self,
        principal: Principal,  # noqa: ARG002 - as authorizers are asked
        operation: str,  # noqa: ARG002
        request: dict[str, Any],  # noqa: ARG002
    ) -> ServiceError | None:
        """Return None."""
        return None


def deny(principal: Principal, action: str, resource: str, *, is_explicit: bool) -> ServiceError:
    """Return what the service answers where a policy forbids something, or none allows it."""
    what = f"User: {principal.arn} is not authorized to perform: dynamodb:{action}"
    why = (
        "with an explicit deny in an identity-based policy"
        if is_explicit
        else f"because no identity-based policy allows the dynamodb:{action} action"
    )
    return AccessDeniedException(f"{what} on resource: {resource} {why}")
