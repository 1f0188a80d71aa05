"""Errors of authorization: denied requests, invalid policies and invalid principals."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class AccessDenied(KeyfoldError, PermissionError):
    """A principal's role does not allow the request; nothing was done.

    The decision uses the request alone, before any call, so it reveals nothing of what is stored.
    """

    code = "access-denied"

    def __init__(self, role: str, action: str, table: str | None, fact: str) -> None:
        super().__init__(role, action, table, fact)
        # OSError itself would keep only the first two in args.
        self.args = (role, action, table, fact)
        self.role, self.action, self.table, self.fact = role, action, table, fact

    def __str__(self) -> str:
        where = "" if self.table is None else f" on {self.table}"
        return f"{self.role}: {self.action}{where} is denied: {self.fact}. [{self.code}]"


class PolicyInvalid(KeyfoldError, ValueError):
    """An IAM policy cannot be enforced here, so none of it is applied."""

    code = "policy-invalid"

    def __init__(self, source: str, fact: str, advice: str) -> None:
        super().__init__(source, fact, advice)
        self.source, self.fact, self.advice = source, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.source}: {self.fact}.{advice} [{self.code}]"


class PrincipalInvalid(KeyfoldError, ValueError):
    """The role does not exist, or a principal with this id cannot have it."""

    code = "principal-invalid"

    def __init__(self, role: str, fact: str, advice: str) -> None:
        super().__init__(role, fact, advice)
        self.role, self.fact, self.advice = role, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"role {self.role}: {self.fact}.{advice} [{self.code}]"
