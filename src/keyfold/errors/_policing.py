"""What a principal may not do, and who cannot be one."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class AccessDenied(KeyfoldError, PermissionError):
    """A principal's role does not allow what it has asked for; nothing was done.

    It is decided from the request alone, before any call, so it tells nothing of what is stored.
    """

    code = "access-denied"

    def __init__(self, role: str, action: str, table: str | None, fact: str) -> None:
        super().__init__(role, action, table, fact)
        # An OSError keeps two of them alone.
        self.args = (role, action, table, fact)
        self.role, self.action, self.table, self.fact = role, action, table, fact

    def __str__(self) -> str:
        where = "" if self.table is None else f" on {self.table}"
        return f"{self.role}: {self.action}{where} is denied: {self.fact}. [{self.code}]"


class PolicyInvalid(KeyfoldError, ValueError):
    """An IAM policy cannot be followed here, so nothing of it is."""

    code = "policy-invalid"

    def __init__(self, source: str, fact: str, advice: str) -> None:
        super().__init__(source, fact, advice)
        self.source, self.fact, self.advice = source, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.source}: {self.fact}.{advice} [{self.code}]"


class PrincipalInvalid(KeyfoldError, ValueError):
    """There is no such role, or nobody with that id can have it."""

    code = "principal-invalid"

    def __init__(self, role: str, fact: str, advice: str) -> None:
        super().__init__(role, fact, advice)
        self.role, self.fact, self.advice = role, fact, advice

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"role {self.role}: {self.fact}.{advice} [{self.code}]"
