"""Every regular expression in the package takes time in proportion to the text it meets.

A new one needs a text that it matches, in `SAMPLES`, in the order of the source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any, Literal, NamedTuple
from uuid import UUID

import pytest

from keyfold.api.shapes import _model
from keyfold.api.shapes._constraints import find_linear
from keyfold.keys import KeyTemplate, Ulid, Wildcard
from keyfold.policy import _rules
from keyfold.policy.iam import _patterns
from keyfold.service._routes import _PLACE
from keyfold.store import _key_templates
from keyfold.store._handles import Handles
from tests.hostile.regular_expressions import Site, find_sites, find_slow_text, use

_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Music"
_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

# By module, for each of its patterns. None: built in a function, and in `BUILT`.
SAMPLES: dict[str, tuple[str | None, ...]] = {
    "analysis.lint._edits": ("a\r\nb",),
    "analysis.lint.indexes": ("global_secondary-index1",),
    "analysis.lint.items": ("expiry_date", "telephone_number"),
    "analysis.lint.key_order": (
        "1767225600",
        "1767225600000",
        "2026-01-01",
        "2026-01-01T00:00:00.5Z",
        "2026-01-01T00:00:00.5+01:00",
        "2026-01-01T00:00:00.5",
        "120",
    ),
    "analysis.lint.operations": ("{a.b.c + ",),
    "analysis.lint.pattern_writes": ("{orders[i]", "sign_up_user"),
    "api.shapes._constraints": (None,),
    "api.shapes._fast_tests": ("Music", _ARN),
    "api.shapes._names": (_ARN,),
    "api.shapes._types": ("aGVsbG8h+/==",),
    "api.statements": ("  SELECT a", "  INSERT a"),
    "store._sent_calls": (f"a {_ULID} 123e4567-e89b-12d3-a456-426614174000",),
    "cli._shell._completion": ("  ab  ",),
    "cli._shell._entries": ("  select a",),
    "cli._shell._names": ("a  --b  c=",),
    "cli._tables": ("a - _b",),
    "cli._times": ("1.5d2h", "1.5d2h30m"),
    "cli._export_iam": ("us-east-1", "000000000000", "a.b"),
    "designs.exchange_rates._currencies": ("EUR",),
    "designs.pantry._times": ("2026-01-02T03:04:05.678+01:00",),
    "engine.bulk.import_formats": (" \t\r\n",),
    "engine.arns": (f"{_ARN}/backup/01234567890123-01234567",),
    "engine.items.responses": ('{"a":{"BS":[]}}',),
    "engine.operations.registry": ("GetItem",),
    "engine.streams.kinesis": ("arn:aws:kinesis:us-east-1:000000000000:stream/a",),
    "engine.streams.lifecycle": (f"{_ARN}/stream/2026-01-01T00:00:00.000",),
    "engine.tables.resource_policies": (f"{_ARN}/stream/2026",),
    "export._cdk": ("tableName",),
    "export._resource_names": ("HTTPOrder12",),
    "export._typescript_types": ("a$b_1",),
    "export.documents._html": ("Access patterns",),
    "export.documents._markdown": ("a*b _c", "a``b"),
    "export.documents._mermaid": ("a b", "a"),
    "imports._aws_schema": (None,),
    "imports._clashes": ("a b",),
    "imports._entities": ("OrderLine", "OrderID"),
    "imports._naming": ("HTTPOrder12",),
    "imports._templates": (None,),
    "imports._texts": (
        "https://example.com/a",
        _ULID,
        "123e4567-e89b-12d3-a456-426614174000",
        "12",
        "2026-01-01",
        "2026-01-01T00:00:00.000000Z",
        "2026-01-01T00:00:00.5+01:00",
        "Ann Lee",
    ),
    "expressions.lexer": ("SET #a.b[12] = :v",),
    "expressions.partiql.completion": (
        'a from  "a""b" c',
        "select from  ",
        'select from "a""b" . ',
        'x "a.b" in [1, 2 ',
        'begins_with ( "a.b" , ',
        "a$b_1",
        "a b$c",
        "'a''b' \"a\"\"b\" `a` -- a\n /* a */ ;",
    ),
    "expressions.partiql.lexer": ("/* a */ 1.5e3 'a''b'", "1.5e3"),
    "expressions.partiql.values": (
        "-12.5e+31",
        "{{ abc }}",
        "{{ 'a' }}",
        "2026-01",
        "-123",
        "-1.5e3",
        "-1.5d3",
        "true",
        "null",
        "'''",
        "[",
        "{",
        "(",
    ),
    "expressions.placeholders": ("#abc", ":abc"),
    "expressions.printer": ("a_1",),
    "keys._annotations": ("012", "012.34"),
    "keys._formats": (None,),
    "keys._templates": (None,),
    "keys._ulid": (_ULID, "order"),
    "model._changes": ("a-b",),
    "model._pattern_faults": ("a {b} c", "a keyword argument", "x 'str' is not int"),
    "model._table_problems": ("Music",),
    "policy._role_problems": ("reader",),
    "policy._rules": (None, None, None),
    "policy.accesses._tables": (f"{_ARN}/index/a",),
    "policy.iam._documents": ("dynamodb:Get*", _ARN),
    "policy.iam._patterns": ("a${aws:username}b", " aws:username , 'a' ", "a*b?c", None),
    "policy.iam._statements": ("a*b", "Own items"),
    "service._app": ("user=ada&count=1",),
    "service._bodies": ("1234567890.1234567890",),
    "service._client": ("x = 1  # noqa: A001, B002 - a reason", "/users/{user}"),
    "service._client_types": (" ",),
    "service._endpoints": ("OrderLine12", "/users/{user}/notes", "/users/{user}"),
    "service._entity_tags": ('W/"abc"', '"abc", W/"d" , "e"', "v12"),
    "service._events": ("a\r\nb",),
    "service._preferences": ('respond-async, maxpagesize="20"',),
    "service._routes": (r"/users/\{user\}", None),
    "store._follow_options": ("a-b",),
    "store._handles": (r'"a\"b"', None, None, None),
    "store._key_templates": (None,),
    "terminals": ("\x1b",),
    "transfer._json_documents": (
        " ,\n ",
        "abc",
        '{ "Count" : 1 , "ConsumedCapacity" : {"a": 1} , "Items" : [',
        '{"a\\"": [1]}',
    ),
    "values.numbers": ("-12.5e+3", "-12.5"),
    "model._expected_use": ("1.5 M",),
    "wire.client._bodies": ('{"a":{"BS" : []}}',),
    "wire.client._endpoints": (
        "us-east-1",
        "test.",
        "127.0.0.1:80",
        "streams.dynamodb.us-east-1.amazonaws.com",
    ),
    "wire.client._prefixes": (_ARN, "SELECT 'a''b' FROM \"a\"", ' "a""b".c'),
    "wire.client._responses": (
        "HTTP/1.1 200 OK\r\n",
        "\r\nDate: \t now\r\nconnection: close",
        "1f \t;a=b",
    ),
    "wire.server._authorization": ("a=b,  c=d",),
    "wire.server._browsers": ("[::1]:8000", "https://example.com:80"),
    "wire.server._input": ("GET /\r\nUpgrade: h2c", "Upgrade"),
    "wire.server._fast_signatures": ("a  b\n c",),
    "wire.server._key_file": ("AKIDEXAMPLE", "abc", "abc!", "ada@example"),
    "wire.server._requests": (
        "AWS4-HMAC-SHA256 Credential=a/b/aws4_request, SignedHeaders=host, Signature=a",
    ),
    "wire.server._signatures": ("20260101T000000Z",),
}

# The methods of patterns that are kept in a table or an attribute.
METHODS = {"expressions.partiql.values": "match", "store._handles": "finditer"}


class OrderId(Ulid, prefix="order"):
    """An id with a prefix."""


# The patterns of the API's own shapes, with texts that they match.
SERVICE_SAMPLES = {
    "[a-zA-Z0-9_.-]+": "Music",
    r"[,;:|\t ]": ",",
    "[0-9]{12}": "000000000000",
    r"[\x20-\x21\x23-\x2B\x2D-\x7E]*": "a b",
    r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$": "my-bucket.1",
    "([0-9a-f]{16})+": "0123456789abcdef",
    r"^[^\$]+$": "abc",
}
TEMPLATES = [
    KeyTemplate.from_types(text, types, owner="Order")
    for text, types in (
        ("A#{a}#B#{b}", {"a": str, "b": str}),
        ("{a}", {"a": str}),
        ("{n:08}-{d}.{t}", {"n": int, "d": date, "t": datetime}),
        ("{id}#{kind}#{x:05.2}", {"id": OrderId, "kind": Literal["a", "ab"], "x": Decimal}),
        ("{u}/{a}/", {"u": UUID, "a": str}),
    )
]
VALUES: dict[str, Any] = {
    "a": "abc",
    "b": "cde",
    "n": 12,
    "d": date(2026, 1, 2),
    "t": datetime(2026, 1, 2, tzinfo=UTC),
    "id": OrderId(f"order#{_ULID}"),
    "kind": "ab",
    "x": Decimal("1.5"),
    "u": UUID(int=7),
}


class Built(NamedTuple):
    """A pattern that the package builds, as for a declaration of a user."""

    pattern: re.Pattern[Any]
    method: str
    sample: str


def _build() -> Iterator[Built]:
    for written, sample in SERVICE_SAMPLES.items():
        yield Built(re.compile(find_linear(written)), "fullmatch", sample)
    rules: list[str] = []
    for template in TEMPLATES:
        key = template.render(VALUES)
        yield Built(template._match.__self__, "fullmatch", key)
        rules.append(_rules._pattern_of(template, "a", "tenant"))
        yield Built(re.compile(rules[-1]), "fullmatch", key)
        whole = [pattern for _, pattern in _key_templates._prefixes_of(template)][-1]
        yield Built(re.compile(whole), "fullmatch", key.removesuffix(template.tail))
        for part in template.parts:
            text = part.format.render(VALUES[part.name])
            yield Built(re.compile(part.format.pattern), "fullmatch", text)
    either = "|".join(f"(?P<whole{place}>{each})" for place, each in enumerate(rules[::2]))
    either = either.replace("<tenant>", "<tenant0>", 1)
    yield Built(re.compile(either), "fullmatch", TEMPLATES[0].render(VALUES))
    for segment in _patterns._segments(("table/", Wildcard.ONE, Wildcard.ANY, "a")):
        yield Built(segment.pattern, "search", "table/ba")
    path = _PLACE.sub(r"(?P<\1>[^/]+)", re.escape("/users/{user}/notes/{note}"))
    yield Built(re.compile(path), "fullmatch", "/users/ada/notes/1")
    handles = Handles([OrderId], bytes(32), "ada")
    order = VALUES["id"]
    yield Built(handles._handles, "finditer", f"a {handles.show(order)} b")
    yield Built(handles._keys, "finditer", f"a {order} b")
    yield Built(handles._mask.__self__, "sub", f"a {order} b")


BUILT = list(_build())
SITES = find_sites()


def _name(module: str) -> str:
    return module.removeprefix("keyfold.")


def _find_known() -> Iterator[tuple[Site, str, str]]:
    """Yield the patterns that are constants, with the methods they are used with, and a sample."""
    places: dict[str, int] = {}
    for site in SITES:
        module = _name(site.module)
        place = places[module] = places.get(module, -1) + 1
        sample = dict(enumerate(SAMPLES.get(module, ()))).get(place)
        if sample is not None and site.pattern is not None:
            for method in site.methods or (METHODS[module],):
                yield site, method, sample


def test_every_regular_expression_is_known() -> None:
    found = Counter(_name(site.module) for site in SITES)
    known = {module: len(samples) for module, samples in SAMPLES.items()}
    assert found == known, "a new one needs a text that it matches, in SAMPLES"
    built = Counter(_name(site.module) for site in SITES if site.pattern is None)
    assert built == {m: samples.count(None) for m, samples in SAMPLES.items() if None in samples}


def test_the_services_patterns_are_all_known() -> None:
    shapes = _model._SHAPES
    found = {each.get("constraints", {}).get("pattern") for each in shapes.values()}
    assert found - {None} == SERVICE_SAMPLES.keys()


def _matches(pattern: re.Pattern[Any], method: str, sample: str) -> bool:
    text: Any = sample.encode() if isinstance(pattern.pattern, bytes) else sample
    found = use(pattern, method, text)
    return found != text if method == "sub" else bool(found)


KNOWN = list(_find_known())


@pytest.mark.parametrize(
    ("site", "method", "sample"), KNOWN, ids=[f"{_name(s.module)}-{m}" for s, m, _ in KNOWN]
)
def test_a_regular_expression_takes_time_in_proportion_to_its_text(
    site: Site, method: str, sample: str
) -> None:
    assert site.pattern is not None
    assert _matches(site.pattern, method, sample)
    slow = find_slow_text(site.pattern, method, sample)
    assert slow is None, f"{site.written} takes too long on {slow}"


@pytest.mark.parametrize("built", BUILT, ids=[each.pattern.pattern[:40] for each in BUILT])
def test_a_regular_expression_that_is_built_takes_time_in_proportion(built: Built) -> None:
    assert _matches(*built)
    slow = find_slow_text(*built)
    assert slow is None, f"{built.pattern.pattern} takes too long on {slow}"


@pytest.mark.parametrize(
    ("pattern", "method", "sample"),
    [
        (r"[+-]?[0-9]*\.?[0-9]*[eE]([+-]?[0-9]+)\Z", "match", "1.5e3"),
        (r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$", "fullmatch", "my-bucket.1"),
        (r"(a+)+$", "match", "aa"),
        (r"\s+$", "search", "a "),
        (r"(?:a|aa)*b", "match", "aab"),
    ],
)
def test_slow_regular_expressions_are_found(pattern: str, method: str, sample: str) -> None:
    assert find_slow_text(re.compile(pattern), method, sample) is not None


def test_names_of_buckets_are_those_of_the_service() -> None:
    (written,) = [each for each in SERVICE_SAMPLES if each != find_linear(each)]
    names = ["".join(each) for size in range(5) for each in product("aZ0._-é\n", repeat=size)]
    for name in names:
        expected = re.fullmatch(written, name) is not None
        assert (re.fullmatch(find_linear(written), name) is not None) is expected, name
