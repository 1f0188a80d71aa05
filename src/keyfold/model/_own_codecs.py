"""Codecs of users: how they store types that Keyfold or pydantic does not know."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from keyfold.errors import DeclarationInvalid, KeyfoldError, ValueInvalid
from keyfold.keys._formats import CONVERSION_ERRORS
from keyfold.model._any_values import decode_any, encode_any
from keyfold.model._scalars import show
from keyfold.model._value_codecs import ValueCodec, take_placeholders
from keyfold.values import AttributeValue

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

T = TypeVar("T")

StoredKind = Literal["S", "N", "B", "BOOL", "L", "M"]

_RETURNS: dict[str, str] = {
    "S": "a str",
    "N": "an int, a Decimal or a float",
    "B": "bytes",
    "BOOL": "a bool",
    "L": "a list",
    "M": "a dict with str keys",
}


# Without slots, with which Codec[T](…) raises TypeError in Python 3.11.
@dataclass(frozen=True)
class Codec(Generic[T]):
    """How the values of a field are stored: `attr(codec=Codec(...))`, or `Annotated[T, Codec(...)]`.

    `encode` returns a plain value, and `decode` makes the field's value from such a plain value.
    `kind` is the DynamoDB type that it is stored as: text ("S", from a str), a number ("N", from
    an int, Decimal or float), "B" (bytes), "BOOL", "L" (a list) or "M" (a dict).

    >>> from fractions import Fraction
    >>> ratio = Codec(encode=str, decode=Fraction)
    >>> ratio.decode(ratio.encode(Fraction(1, 3)))
    Fraction(1, 3)

    A field with a codec of kind S, N or B can be a key, a part of a key template, or unique. Keys
    and conditions compare the encoded values. The type of the field may be any class; instances of
    it are made from plain values, too, and are encoded in JSON.
    """

    encode: Callable[[T], Any]
    decode: Callable[[Any], T]
    kind: StoredKind = "S"

    def __post_init__(self) -> None:
        if self.kind not in _RETURNS or not callable(self.encode) or not callable(self.decode):
            kinds = ", ".join(_RETURNS)
            fact = f"encode and decode must be functions, and kind one of {kinds}"
            raise DeclarationInvalid((f"Codec: {fact}; got {self!r:.200}.",))

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return a schema that takes instances of any class; pydantic calls this."""
        try:
            inner = handler(source)
        except PydanticSchemaGenerationError:
            inner = None
        if inner is None or inner["type"] == "is-instance":
            inner = self._schema_for(source)
        return core_schema.no_info_before_validator_function(_check_decoded, inner)

    def _schema_for(self, source: Any) -> CoreSchema:
        if get_origin(source) in (Union, types.UnionType):
            options = [each for each in get_args(source) if each is not types.NoneType]
            if len(options) == 1:
                return core_schema.nullable_schema(self._schema_for(options[0]))
        python = get_origin(source) or source

        def validate(value: Any) -> Any:
            if isinstance(value, python):
                return value
            try:
                made = self.decode(value)
            except CONVERSION_ERRORS as error:
                raise PydanticCustomError("codec", "{reason}", {"reason": _show(error)}) from error
            if not isinstance(made, python):
                reason = f"its codec made a {type(made).__name__}"
                raise PydanticCustomError("codec", "{reason}", {"reason": reason})
            return made

        plain = _PLAIN_SCHEMAS[self.kind]
        return core_schema.no_info_plain_validator_function(
            validate,
            json_schema_input_schema=plain,
            serialization=core_schema.plain_serializer_function_ser_schema(
                self.encode, when_used="json-unless-none", return_schema=core_schema.any_schema()
            ),
        )


_PLAIN_SCHEMAS: dict[str, CoreSchema] = {
    "S": core_schema.str_schema(),
    "N": core_schema.float_schema(),
    "B": core_schema.bytes_schema(),
    "BOOL": core_schema.bool_schema(),
    "L": core_schema.list_schema(),
    "M": core_schema.dict_schema(),
}


@dataclass(frozen=True, slots=True)
class Undecodable:
    """Stands for a stored value that a user's codec refused; validation reports the reason."""

    reason: str


def _check_decoded(value: Any) -> Any:
    if isinstance(value, Undecodable):
        raise PydanticCustomError("codec", "{reason}", {"reason": value.reason})
    return value


def _show(error: Exception) -> str:
    return f"its codec cannot decode it: {type(error).__name__}: {error}"


def find_own_codec(metadata: Sequence[Any]) -> Codec[Any] | None:
    """Return the codec among the metadata of a field; the last one if there are several."""
    found = [cast(Codec[Any], each) for each in metadata if isinstance(each, Codec)]
    return found[-1] if found else None


def own_codec(codec: Codec[Any], python: type[Any] | None) -> ValueCodec:
    """Return the codec of a field whose declaration has a codec; `python` is its class."""
    kind = codec.kind

    def encode(value: Any) -> AttributeValue:
        try:
            plain = codec.encode(value)
        except KeyfoldError:
            raise
        except CONVERSION_ERRORS as error:
            fact = f"its codec cannot encode it ({type(error).__name__}: {error})"
            raise ValueInvalid(show(value), fact, "") from error
        stored = encode_any(plain)
        if kind not in stored:
            fact = f"its codec, of kind {kind}, made a {type(plain).__name__}"
            raise ValueInvalid(show(value), fact, f"Return {_RETURNS[kind]}.")
        return stored

    def decode(value: AttributeValue) -> Any:
        plain = decode_any(value)
        if kind not in value:
            return plain
        try:
            return codec.decode(plain)
        except CONVERSION_ERRORS as error:
            return Undecodable(_show(error))

    return ValueCodec(
        take_placeholders(encode, "N" if kind == "N" else "S"),
        decode,
        frozenset({kind}),
        python=python,
    )
