"""Errors of authorization: denied requests, invalid policies and invalid principals."""

from __future__ import annotations

from keyfold.errors._base import TemplatedError


class AccessDenied(TemplatedError, PermissionError):
    """No role of the principal allows the request; nothing was done.

    `role` names the principal's roles, and `fact` says what each of them lacks. The decision uses
    the request alone, before any call, so it reveals nothing of what is stored.
    """

    code = "access-denied"
    message_template = "{role}: {action}{where} is denied: {fact}."
    public_template = "Access is denied."
    role: str
    action: str
    table: str | None
    fact: str

    def _words(self) -> dict[str, str]:
        return {"where": "" if self.table is None else f" on {self.table}"}


class PolicyInvalid(TemplatedError, ValueError):
    """An IAM policy cannot be enforced here, so none of it is applied."""

    code = "policy-invalid"
    message_template = "{source}: {fact}. {advice}"
    source: str
    fact: str
    advice: str


class PrincipalInvalid(TemplatedError, ValueError):
    """The role does not exist, or a principal with this id cannot have it."""

    code = "principal-invalid"
    message_template = "role {role}: {fact}. {advice}"
    role: str
    fact: str
    advice: str
