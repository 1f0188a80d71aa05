"""Authorizers: decide what a principal may do, and return the service's error if denied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from keyfold.api.wordings import Wording
from keyfold.errors import AccessDeniedException, ServiceError
from keyfold.policy import Access, PrincipalGuard, Right
from keyfold.policy.accesses import KeyLookup, read_accesses
from keyfold.policy.iam import EXPLICIT_DENY, PolicyDocument, find_denial, resource_of
from keyfold.wire.server._lookups import PARAMETERS, Lookup
from keyfold.wire.server._statement_denials import (
    find_denied_by_policy,
    find_denied_to_guards,
    guess_access,
)

ACCOUNT = "000000000000"


class WirePrincipal(NamedTuple):
    """The principal of a request."""

    name: str

    @property
    def arn(self) -> str:
        """The principal's ARN, as it appears in the service's errors."""
        return f"arn:aws:iam::{ACCOUNT}:user/{self.name}"


class Authorizer(Protocol):
    """Decides on requests from their contents alone, without reading any table."""

    # Whether it denies nothing, whatever is requested.
    allows_everything: bool

    def admits(self, operation: str, request: Any) -> bool:
        """Return whether a read is certainly allowed: the fast path; `find_denial` decides the rest.

        May raise anything for an invalid request.
        """
        ...

    def find_denial(self, operation: str, request: dict[str, Any]) -> ServiceError | None:
        """Return the error of a request that is denied; None if it may be carried out."""
        ...

    def find_lookup(self, request: dict[str, Any]) -> Lookup | None:
        """Return how to run a Query that is denied as such as a lookup; None if it may not."""
        ...


class AdminAuthorizer:
    """Allows every request."""

    allows_everything = True

    def admits(self, operation: str, request: Any) -> bool:  # noqa: ARG002 - Authorizer's signature
        """Return True."""
        return True

    def find_denial(
        self,
        operation: str,  # noqa: ARG002 - Authorizer's signature
        request: dict[str, Any],  # noqa: ARG002
    ) -> ServiceError | None:
        """Return None: nothing is denied to an administrator."""
        return None

    def find_lookup(self, request: dict[str, Any]) -> Lookup | None:  # noqa: ARG002
        """Return None: an administrator may run any Query as it is."""
        return None


_GET = Right.GET.value
# A GetItem with only these parameters is decided by its table, its key, and the last of them.
_PLAIN_GET = frozenset({"TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity"})
_MAX_CACHED = 1_000
# Longer keys are not valid, but this is decided before anybody checks that.
_MAX_CACHED_LENGTH = 2_048


class RoleAuthorizer:
    """Allows what roles allow, with one guard for each table that declares one of them.

    `checked` are the tables whose writes the engine checks.
    """

    allows_everything = False

    def __init__(
        self,
        name: str,
        guards: Mapping[str, PrincipalGuard],
        keys: KeyLookup,
        region: str,
        checked: frozenset[str] = frozenset(),
        wording: Wording = "2026",
    ) -> None:
        self._principal = WirePrincipal(name)
        self._checked = checked
        self._guards, self._keys, self._region = guards, keys, region
        self._wording: Wording = wording
        self._denied = find_denied_to_guards(guards.values())

    def find_denial(self, operation: str, request: dict[str, Any]) -> ServiceError | None:
        """Return the error of the first access that no role allows; None if all are allowed."""
        if operation in self._denied:
            return self._deny(guess_access(request))
        try:
            accesses = read_accesses(operation, request, self._keys, self._wording)
        except ServiceError as error:
            return error
        for access in accesses:
            if not self._is_allowed(access):
                return self._deny(access)
        return None

    def _deny(self, access: Access) -> ServiceError:
        resource = resource_of(access, region=self._region)
        return access_denied_error(self._principal, access.action, resource, is_explicit=False)

    def find_lookup(self, request: dict[str, Any]) -> Lookup | None:
        """Return how to run a Query that is denied as such as a lookup; None if it may not."""
        if not PARAMETERS.issuperset(request):
            return None
        (access,) = read_accesses("Query", request, self._keys)
        guard = self._guards.get(access.table or "")
        shows = None if guard is None else guard.find_lookup(access)
        if guard is None or shows is None or access.index_name is None:
            return None
        layout, index = guard.layout, guard.layout.indexes[access.index_name]
        key = tuple(dict.fromkeys((*layout.key, *index.partition, *index.sort)))
        return Lookup(layout.table, index.name, shows, key)

    def admits(self, operation: str, request: Any) -> bool:
        """Return whether a read is certainly allowed."""
        if operation == "GetItem":
            table = request["TableName"]
            guard, names = self._guards.get(table), self._keys(table)
            if (
                guard is not None
                and names is not None
                and guard.admits(_GET, request["Key"][names.partition])
            ):
                return True
        return request.__class__ is dict and self.find_denial(operation, request) is None

    def _is_allowed(self, access: Access) -> bool:
        if access.table is None:
            # An access that concerns no table is allowed if any guard allows it.
            return any(guard.check(access) is None for guard in self._guards.values())
        guard = self._guards.get(access.table)
        is_checked = access.table in self._checked
        return guard is not None and guard.check(access, has_checked_writes=is_checked) is None


class PolicyAuthorizer:
    """Allows what an IAM policy allows."""

    allows_everything = False

    def __init__(
        self,
        name: str,
        policy: PolicyDocument,
        ids: Mapping[str, str],
        keys: KeyLookup,
        region: str,
        wording: Wording = "2026",
    ) -> None:
        self._wording: Wording = wording
        self._principal = WirePrincipal(name)
        self._policy, self._ids = policy, ids
        self._denied = find_denied_by_policy(policy)
        # The plain GetItems that the policy allows, by what it sees of them.
        self._allowed: set[tuple[object, ...]] = set()
        self._keys, self._region = keys, region

    def find_denial(self, operation: str, request: dict[str, Any]) -> ServiceError | None:
        """Return the error of the first access that the policy denies or does not allow."""
        return self._find_denial(operation, request, self._keys)

    def _find_denial(
        self, operation: str, request: dict[str, Any], keys: KeyLookup
    ) -> ServiceError | None:
        if operation in self._denied:
            access = guess_access(request)
            resource = resource_of(access, region=self._region)
            return access_denied_error(self._principal, access.action, resource, is_explicit=False)
        try:
            accesses = read_accesses(operation, request, keys, self._wording)
        except ServiceError as error:
            return error
        denial = find_denial(
            self._policy, self._ids, accesses, name=self._principal.name, region=self._region
        )
        if denial is None:
            return None
        denied = next(
            each for each in accesses if (each.action, each.table) == (denial.action, denial.table)
        )
        resource = resource_of(denied, region=self._region)
        is_explicit = denial.fact == EXPLICIT_DENY
        return access_denied_error(
            self._principal, denial.action, resource, is_explicit=is_explicit
        )

    def find_lookup(self, request: dict[str, Any]) -> Lookup | None:  # noqa: ARG002 - Authorizer's signature
        """Return None: a policy allows a Query as it is, or not at all."""
        return None

    def admits(self, operation: str, request: Any) -> bool:
        """Return whether a read is certainly allowed."""
        if operation == "GetItem" and _PLAIN_GET.issuperset(request):
            return self._admits_plain_get(request)
        return request.__class__ is dict and self.find_denial(operation, request) is None

    def _admits_plain_get(self, request: dict[str, Any]) -> bool:
        table, key = request["TableName"], request["Key"]
        names = self._keys(table)
        if names is None:
            return False
        ((kind, leading),) = key[names.partition].items()
        if kind != "S":
            return False
        # Everything that the policy can see of the request.
        seen = (table, leading, request.get("ReturnConsumedCapacity"), *key)
        if seen in self._allowed:
            return True
        if self._find_denial("GetItem", request, lambda _: names) is not None:
            return False
        if len(leading) <= _MAX_CACHED_LENGTH:
            if len(self._allowed) >= _MAX_CACHED:
                self._allowed.clear()
            self._allowed.add(seen)
        return True


def access_denied_error(
    principal: WirePrincipal, action: str, resource: str, *, is_explicit: bool
) -> ServiceError:
    """Return the service's error if a policy denies an action, or no policy allows it."""
    fact = f"User: {principal.arn} is not authorized to perform: dynamodb:{action}"
    reason = (
        "with an explicit deny in an identity-based policy"
        if is_explicit
        else f"because no identity-based policy allows the dynamodb:{action} action"
    )
    return AccessDeniedException(f"{fact} on resource: {resource} {reason}")
