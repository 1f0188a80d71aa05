"""Checks that a request has a complete Authorization.

`_signatures` verifies the signature, if the server has access keys; otherwise any access key is
accepted, as by other local DynamoDBs.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from keyfold.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
    ServiceError,
)

_MISSING = "Request is missing Authentication Token"
_BOTH = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."

_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARAMETERS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)


def find_authorization_fault(headers: dict[bytes, bytes], query: bytes) -> ServiceError | None:
    """Return the error of a missing or incomplete authorization; None if it is complete."""
    authorization = headers.get(b"authorization")
    asked = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    if "X-Amz-Algorithm" in asked:
        if authorization is not None:
            return InvalidSignatureException(_BOTH)
        return _find_query_fault(asked)
    if authorization is None or not authorization.startswith(b"AWS4-"):
        return MissingAuthenticationTokenException(_MISSING)
    return _find_header_fault(authorization.decode("latin-1"), headers)


def _find_query_fault(asked: dict[str, str]) -> ServiceError | None:
    absent = [name for name in _QUERY_PARAMETERS if not asked.get(name)]
    if not absent:
        return None
    sentences = [f"AWS query-string parameters must include '{name}'." for name in absent]
    return IncompleteSignatureException(
        " ".join((*sentences, "Re-examine the query-string parameters."))
    )


def _find_header_fault(authorization: str, headers: dict[bytes, bytes]) -> ServiceError | None:
    _, _, listed = authorization.partition(" ")
    given = {name for name, equals, value in split_parameters(listed) if equals and value}
    sentences = [
        f"Authorization header requires '{name}' parameter."
        for name in _PARAMETERS
        if name not in given
    ]
    if not (headers.get(b"x-amz-date") or headers.get(b"date")):
        sentences.append(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        )
    if not sentences:
        return None
    return IncompleteSignatureException(" ".join((*sentences, f"Authorization={authorization}")))


def split_parameters(listed: str) -> list[tuple[str, str, str]]:
    """Return the parameters of an Authorization: name, "=" (or nothing if absent), and value."""
    return [part.partition("=") for part in re.split(r"[ ,]+", listed)]
