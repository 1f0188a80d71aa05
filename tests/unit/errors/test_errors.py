"""Errors keep their facts, state them in one message, and survive pickling and copying."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import keyfold
from keyfold import errors
from keyfold.errors import (
    AccessDenied,
    AddressUnavailable,
    ClientClosed,
    ConditionFailed,
    DeclarationInvalid,
    FieldUnknown,
    IndexPartsUnknown,
    InsightsOff,
    KeyfoldError,
    MissingKeyPart,
    OptionInvalid,
    QueryInvalid,
    ServiceError,
    SourceUnreadable,
    TableUnsettled,
    TransactionFailed,
    Unreachable,
    WrongTable,
)
from keyfold.errors._base import TemplatedError

# A fact of each type that errors declare.
FACTS: dict[str, object] = {
    "KeyfoldError | None": ClientClosed("http://localhost:8000"),
    "float": 1.5,
    "int": 3,
    "object": b"x",
    "str": "Order",
    "str | None": None,
    "tuple[KeyfoldError | None, ...]": (None, ClientClosed("http://localhost:8000")),
    "tuple[str, ...]": ("one", "two"),
}


def subclasses(parent: type[Any]) -> Iterator[type[Any]]:
    for child in parent.__subclasses__():
        yield child
        yield from subclasses(child)


OWN = sorted(
    {each for each in subclasses(TemplatedError) if not each.__name__.startswith("_")},
    key=lambda error: error.__name__,
)


def make(kind: type[TemplatedError]) -> TemplatedError:
    types: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, TemplatedError) and base is not TemplatedError:
            types |= base.__annotations__
    return kind(*(FACTS[each] for each in types.values()))


@pytest.mark.parametrize("kind", OWN)
def test_an_error_survives_pickling_and_copying(kind: type[TemplatedError]) -> None:
    error = make(kind)
    error.add_note("seen")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert (str(other), repr(other)) == (str(error), repr(error))
        assert vars(other).keys() == vars(error).keys() == {*kind.__match_args__, "__notes__"}


@pytest.mark.parametrize("kind", OWN)
def test_a_message_ends_with_the_code(kind: type[TemplatedError]) -> None:
    message = str(make(kind))
    assert message.endswith(f" [{kind.code}]")
    assert "{" not in message.replace("{…}", "")


def test_every_error_is_exported() -> None:
    for module in pkgutil.walk_packages(keyfold.__path__, "keyfold."):
        importlib.import_module(module.name)
    ours = [each for each in subclasses(KeyfoldError) if each.__module__.startswith("keyfold.")]
    public = {each.__name__ for each in ours if not each.__name__.startswith("_")}
    assert public - {"TemplatedError"} == {*errors.__all__} - {"KeyfoldError"}


def test_facts_are_passed_by_position_or_by_name() -> None:
    error = ConditionFailed("Order", "7", fact="it is paid")
    assert (error.entity, error.key, error.fact, error.found) == ("Order", "7", "it is paid", None)
    assert error.args == ("Order", "7", "it is paid", None)
    match ConditionFailed("Order", "7", "it is paid", found=8):
        case ConditionFailed(entity, _, _, found):
            assert (entity, found) == ("Order", 8)


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        (("page", 0), {}),
        (("page", 0, "Give 1.", "Give 2."), {}),
        (("page", 0, "Give 1."), {"advice": "Give 2."}),
        (("page", 0, "Give 1."), {"fact": "it is 0"}),
    ],
)
def test_other_facts_than_the_declared_are_refused(
    facts: tuple[object, ...], named: dict[str, object]
) -> None:
    kind: Any = OptionInvalid
    with pytest.raises(TypeError, match=r"^OptionInvalid takes option, received, advice$"):
        kind(*facts, **named)


def test_an_error_of_the_system_keeps_all_its_facts() -> None:
    error = AddressUnavailable("localhost", 80, "no permission")
    assert repr(error) == "AddressUnavailable('localhost', 80, 'no permission')"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OptionInvalid("page", 0, "Give 1."), "page: got 0. Give 1. [option-invalid]"),
        (QueryInvalid("run()", "it is {}", ""), "run(): it is {}. [query-invalid]"),
        (SourceUnreadable("a.csv", "it is empty"), "a.csv: it is empty. [source-unreadable]"),
        (
            DeclarationInvalid(("A: one.", "B: two.")),
            "A: one. [declaration-invalid]\nB: two. [declaration-invalid]",
        ),
        (
            FieldUnknown("Order", "id", ()),
            "Order: unknown field 'id'; known fields: none. [field-unknown]",
        ),
        (
            MissingKeyPart("Order", "O#{id}", "id", ()),
            "Order: key template 'O#{id}' needs 'id'; got nothing. [key-missing-part]",
        ),
        (
            IndexPartsUnknown("Order", "gsi1pk", ("a", "b")),
            (
                "Order: the index key 'gsi1pk' is also built from a, b. "
                "Use update() of an entity that you have read, or pass the current values with "
                "knowing(a=…, b=…). [index-parts-unknown]"
            ),
        ),
        (
            WrongTable("Shop", ("Clinic", "Rates")),
            "store of Clinic, Rates: the request is for table 'Shop'. [wrong-table]",
        ),
        (
            InsightsOff("Shop", "by_day"),
            (
                "index by_day: its keys are not counted. Enable its contributor insights first: "
                'execute("UpdateContributorInsights", …). [insights-off]'
            ),
        ),
        (
            TableUnsettled("Shop", 60.4),
            (
                "Shop: a change is still in progress after 60 seconds. It continues in the background; "
                "apply again later to do the rest. [table-unsettled]"
            ),
        ),
        (
            Unreachable("http://db", "GetItem", 1, "it refused"),
            (
                "cannot reach http://db: GetItem was tried once; it refused. "
                "Nothing was changed. [unreachable]"
            ),
        ),
        (
            AccessDenied("guest", "Scan", None, "no right"),
            "guest: Scan is denied: no right. [access-denied]",
        ),
        (
            TransactionFailed((None, ConditionFailed("Order", "7", "it is paid"))),
            (
                "transaction: it was not carried out. request 1: Order 7: it is paid. "
                "[condition-failed] [transaction-failed]"
            ),
        ),
    ],
)
def test_messages(error: KeyfoldError, message: str) -> None:
    assert str(error) == message


def test_an_error_of_the_service_has_its_type_and_message() -> None:
    error = errors.ValidationException("no such index", {"Item": {}})
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ServiceError)
    assert (again.type, again.message, again.fields) == (error.type, error.message, error.fields)
