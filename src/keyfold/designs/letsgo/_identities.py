"""Identities of users: an issuer of access tokens, and a subject in its tokens."""

from __future__ import annotations

from urllib.parse import quote, unquote

from pydantic import BaseModel

_PREFIX = "idn-"
# What JavaScript's encodeURIComponent leaves as it is, besides what `quote` never changes.
_UNQUOTED = "!*'()"


class Subject(BaseModel, frozen=True):
    """The subject `sub` of the tokens of the issuer `iss`: who did something."""

    iss: str
    sub: str


def make_identity_id(subject: Subject) -> str:
    """Return the id that the platform gives to an identity, which contains issuer and subject.

    >>> make_identity_id(Subject(iss="a", sub="b"))
    'idn-613a62'
    """
    text = f"{quote(subject.iss, safe=_UNQUOTED)}:{quote(subject.sub, safe=_UNQUOTED)}"
    return _PREFIX + text.encode().hex()


def read_identity_id(identity_id: str) -> Subject | None:
    """Return the issuer and subject of an id of the platform; None for another kind of id.

    >>> read_identity_id("idn-613a62")
    Subject(iss='a', sub='b')
    """
    if not identity_id.startswith(_PREFIX):
        return None
    try:
        iss, sub = bytes.fromhex(identity_id.removeprefix(_PREFIX)).decode().split(":")
    except ValueError:
        return None
    return Subject(iss=unquote(iss), sub=unquote(sub))
