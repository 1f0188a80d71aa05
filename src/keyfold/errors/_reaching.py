"""Errors between a client and the service it connects to."""

from __future__ import annotations

from keyfold.errors._base import KeyfoldError


class Unreachable(KeyfoldError, ConnectionError):
    """No response came from the service, and nothing can have been changed."""

    code = "unreachable"

    def __init__(self, endpoint: str, operation: str, attempts: int, detail: str) -> None:
        super().__init__(endpoint, operation, attempts, detail)
        # OSError itself would keep only the first two in args.
        self.args = (endpoint, operation, attempts, detail)
        self.endpoint, self.operation = endpoint, operation
        self.attempts, self.detail = attempts, detail

    def __str__(self) -> str:
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        return (
            f"cannot reach {self.endpoint}: {self.operation} was tried {times}; {self.detail}. "
            f"Nothing was changed. [{self.code}]"
        )


class AnswerInvalid(KeyfoldError):
    """The endpoint's response does not follow DynamoDB's protocol."""

    code = "answer-invalid"

    def __init__(self, endpoint: str, detail: str) -> None:
        super().__init__(endpoint, detail)
        self.endpoint, self.detail = endpoint, detail

    def __str__(self) -> str:
        return (
            f"{self.endpoint}: {self.detail}. Check that this is a DynamoDB endpoint, with no "
            f"proxy in between. [{self.code}]"
        )


class CredentialsMissing(KeyfoldError):
    """No AWS credentials were found to sign requests with."""

    code = "credentials-missing"

    def __init__(self, looked: str, advice: str) -> None:
        super().__init__(looked, advice)
        self.looked, self.advice = looked, advice

    def __str__(self) -> str:
        return f"no AWS credentials: {self.looked}. {self.advice} [{self.code}]"


class ClientClosed(KeyfoldError, ValueError):
    """A client was used after it was closed."""

    code = "client-closed"

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.endpoint = endpoint

    def __str__(self) -> str:
        return f"client of {self.endpoint}: it is closed. Open another. [{self.code}]"
