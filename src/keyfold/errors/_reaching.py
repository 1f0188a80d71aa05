"""Errors between a client and the service it connects to."""

from __future__ import annotations

from keyfold.errors._base import TemplatedError


class Unreachable(TemplatedError, ConnectionError):
    """No response came from the service, and nothing can have been changed."""

    code = "unreachable"
    message_template = (
        "cannot reach {endpoint}: {operation} was tried {times}; {detail}. Nothing was changed."
    )
    public_template = "The service is not available. Try again later."
    endpoint: str
    operation: str
    attempts: int
    detail: str

    def _words(self) -> dict[str, str]:
        return {"times": "once" if self.attempts == 1 else f"{self.attempts} times"}


class AnswerInvalid(TemplatedError):
    """The endpoint's response does not follow DynamoDB's protocol."""

    code = "answer-invalid"
    message_template = (
        "{endpoint}: {detail}. Check that this is a DynamoDB endpoint, with no proxy in between."
    )
    endpoint: str
    detail: str


class CredentialsMissing(TemplatedError):
    """No AWS credentials were found to sign requests with."""

    code = "credentials-missing"
    message_template = "no AWS credentials: {looked}. {advice}"
    looked: str
    advice: str


class ClientClosed(TemplatedError, ValueError):
    """A client was used after it was closed."""

    code = "client-closed"
    message_template = "client of {endpoint}: it is closed. Open another."
    endpoint: str
