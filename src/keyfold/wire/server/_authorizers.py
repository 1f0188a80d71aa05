"""What a principal may do: who is asked, and how the service words that the answer is no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from keyfold.errors import AccessDeniedException, ServiceError
from keyfold.policy import Access, Guard
from keyfold.policy.iam import EXPLICIT_DENY, PolicyDocument, find_denial, resource_of
from keyfold.wire.server._accesses import read_accesses
from keyfold.wire.server._item_accesses import KeyLookup

ACCOUNT = "000000000000"


class WirePrincipal(NamedTuple):
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
        self, principal: WirePrincipal, operation: str, request: dict[str, Any]
    ) -> ServiceError | None:
        """Return the error of a request that is denied; None if it may be carried out."""
        ...


class AdminAuthorizer:
    """Lets everything be done."""

    reads_requests = False

    def find_denial(
        self,
        principal: WirePrincipal,  # noqa: ARG002 - as authorizers are asked
        operation: str,  # noqa: ARG002
        request: dict[str, Any],  # noqa: ARG002
    ) -> ServiceError | None:
        """Return None."""
        return None


class RoleAuthorizer:
    """Lets be done what a role allows: by a guard for each table that has the role."""

    reads_requests = True

    def __init__(self, guards: Mapping[str, Guard], keys: KeyLookup, region: str) -> None:
        self._guards, self._keys, self._region = guards, keys, region

    def find_denial(
        self, principal: WirePrincipal, operation: str, request: dict[str, Any]
    ) -> ServiceError | None:
        """Return the error of the first thing that the role does not allow."""
        try:
            accesses = read_accesses(operation, request, self._keys)
        except ServiceError as error:
            return error
        for access in accesses:
            if not self._is_allowed(access):
                resource = resource_of(access, region=self._region)
                return deny(principal, access.action, resource, is_explicit=False)
        return None

    def _is_allowed(self, access: Access) -> bool:
        if access.table is None:
            # What concerns no table is allowed by any.
            return any(guard.check(access) is None for guard in self._guards.values())
        guard = self._guards.get(access.table)
        return guard is not None and guard.check(access) is None


class PolicyAuthorizer:
    """Lets be done what an IAM policy allows."""

    reads_requests = True

    def __init__(
        self, policy: PolicyDocument, ids: Mapping[str, str], keys: KeyLookup, region: str
    ) -> None:
        self._policy, self._ids = policy, ids
        self._keys, self._region = keys, region

    def find_denial(
        self, principal: WirePrincipal, operation: str, request: dict[str, Any]
    ) -> ServiceError | None:
        """Return the error of the first thing that the policy denies, or does not allow."""
        try:
            accesses = read_accesses(operation, request, self._keys)
        except ServiceError as error:
            return error
        denial = find_denial(
            self._policy, self._ids, accesses, name=principal.name, region=self._region
        )
        if denial is None:
            return None
        denied = next(
            each for each in accesses if (each.action, each.table) == (denial.action, denial.table)
        )
        resource = resource_of(denied, region=self._region)
        is_explicit = denial.fact == EXPLICIT_DENY
        return deny(principal, denial.action, resource, is_explicit=is_explicit)


def deny(
    principal: WirePrincipal, action: str, resource: str, *, is_explicit: bool
) -> ServiceError:
    """Return what the service answers where a policy forbids something, or none allows it."""
    what = f"User: {principal.arn} is not authorized to perform: dynamodb:{action}"
    why = (
        "with an explicit deny in an identity-based policy"
        if is_explicit
        else f"because no identity-based policy allows the dynamodb:{action} action"
    )
    return AccessDeniedException(f"{what} on resource: {resource} {why}")
