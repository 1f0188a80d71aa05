"""End users of the market never see a system key: all patterns, as each of their roles.

The patterns run on the demo's data with arguments that find something, that belong to somebody else,
that do not exist, that are keys instead of handles, and that are nonsense. Whatever is printed must
have no key in it, and every handle must be accepted as a parameter.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

import keyfold
from keyfold import Pattern, Store, Ulid
from keyfold.cli._arguments import to_flag
from keyfold.cli._plain import to_json_text, to_plain
from keyfold.designs.market import Cart, CartId, Order, OrderId, Product, ProductId, table
from keyfold.engine import Engine
from keyfold.model._pattern_arguments import sample_for
from keyfold.model._pattern_types import find_value_type
from keyfold.store import Handles
from keyfold.wire.server import Server
from tests.demo_run import DemoRun
from tests.unit.cli.program import Outcome, Run

# A letter, # and a value: a key. Templates have a brace after #, and a handle has no # in it.
KEY = re.compile(r"(?<![A-Za-z0-9_-])[A-Z]#(?!\{)[A-Za-z0-9]")
# Not within a cursor, which is base64 as well.
HANDLE = re.compile(r"(?<![A-Za-z0-9_-])[ABCIOPR]_h[A-Za-z0-9_-]{43}")
BODY = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")

USER = "rabinovich"
PRINCIPALS = {
    "customer": ("--as", "customer", "--id", f"user={USER}"),
    "seller": ("--as", "seller", "--id", f"user={USER}"),
    "visitor": ("--as", "visitor"),
    "customer and seller": ("--as", "customer", "--as", "seller", "--id", f"user={USER}"),
}
# Lines of the shell that are not patterns.
LISTINGS = [
    "tables",
    "patterns",
    "help",
    "json",
    "describe Market",
    "keys Market",
    "keys Market U#",
    "select * from Market;",
]
PATTERNS = [*table.patterns.values()]


@dataclass(frozen=True, slots=True)
class Found:
    """Items of the demo's data that belong to one user: entities by type, ids by type."""

    user: str
    entities: dict[type[Any], Any]

    def find(self, name: str, kind: Any) -> Any:
        """Return a value for a parameter; None if there is none."""
        if name == "user":
            return self.user
        if name == "key":
            return self.entities[Product].product
        for entity in self.entities.values():
            for value in dict(entity).values():
                if kind in (type(value), type(value) | None) and isinstance(value, Ulid):
                    return value
        if kind in self.entities:
            return self.entities[kind]
        if name == "id" and Order in self.entities:
            return self.entities[Order].id
        return None


@pytest.fixture(scope="module")
def file(demo_run: DemoRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with the demo's data and with items that cannot be read."""
    copied = tmp_path_factory.mktemp("market") / "demo.db"
    shutil.copy(demo_run.file, copied)
    with keyfold.open(table, copied) as store:
        products = store.iterate(Product.scan(), on_invalid=lambda _: None)
        own = next(iter(products)).model_copy(update={"user": USER, "product": ProductId.new()})
        store.run(own.put())
        for partition in (f"U#{USER}", f"U#{USER}#O", f"U#{USER}#P", f"U#{USER}#R"):
            for sort in (f"O#{'0' * 26}#x", f"R#{'0' * 26}", "I#" + "0" * 26, "strange"):
                item = {"pk": {"S": partition}, "sk": {"S": sort}, "total": {"S": f"C#{'1' * 26}"}}
                store.execute("PutItem", {"TableName": table.name, "Item": item})
    return copied


@pytest.fixture(scope="module")
def found(file: Path) -> dict[str, Found]:
    """Return items of the principal, and items of somebody else."""
    users: dict[str, dict[type[Any], Any]] = {"own": {}, "other": {}}
    with keyfold.open(table, file) as store:
        for each in store.iterate(table.scan(), on_invalid=lambda _: None):
            owner = "own" if getattr(each, "user", None) == USER else "other"
            users[owner].setdefault(cast("type[Any]", type(each)), each)
    other = users["other"][Order].user
    return {"own": Found(USER, users["own"]), "other": Found(other, users["other"])}


@pytest.fixture
def db(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the database, which commands use by default."""
    copied = tmp_path / "market.db"
    shutil.copy(file, copied)
    monkeypatch.setenv("KEYFOLD_DB", str(copied))
    return copied


def handles_of(store: Store, principal: str) -> Handles:
    roles = [each for each in PRINCIPALS[principal][1::2] if "=" not in each]
    ids = {} if principal == "visitor" else {"user": USER}
    handles = store.as_principal(*roles, **ids).handles
    assert handles is not None
    return handles


def values_of(pattern: Pattern[..., Any], found: Found) -> dict[str, Any]:
    """Return a value for each parameter of a pattern."""
    values: dict[str, Any] = {}
    for each in pattern.parameters:
        kind = find_value_type(pattern, each)
        value = found.find(each.name, kind)
        if value is None:
            value = pattern.example.get(each.name)
        if value is None:
            value = sample_for(each.name, kind)
        values[each.name] = value
    return values


def to_word(value: Any) -> str:
    plain = to_plain(value)
    return plain if isinstance(plain, str) else to_json_text(plain, indent=False)


def words_of(pattern: Pattern[..., Any], values: dict[str, str]) -> list[str]:
    # After --, an id is the pattern's, even if it looks like the principal's.
    flags = [word for name, text in values.items() for word in (to_flag(name), text)]
    return [pattern.name, "--", *flags]


def variants(
    pattern: Pattern[..., Any], found: dict[str, Found], handles: Handles
) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Yield the words that name a pattern and its arguments, with the options to run it with."""
    own = {name: to_word(each) for name, each in values_of(pattern, found["own"]).items()}
    other = {name: to_word(each) for name, each in values_of(pattern, found["other"]).items()}
    shown = {name: handles.show(text) for name, text in own.items()}
    absent = {name: handles.show(BODY.sub("0" * 26, text)) for name, text in own.items()}
    for options in ((), ("--json",)):
        yield words_of(pattern, shown), options
    yield words_of(pattern, {name: handles.show(text) for name, text in other.items()}), ()
    yield words_of(pattern, absent), ("--json",)
    # Keys instead of handles.
    yield words_of(pattern, own), ()


def single_variants(
    pattern: Pattern[..., Any], found: dict[str, Found], handles: Handles
) -> Iterator[list[str]]:
    """Yield the words of a pattern with one argument that is a key, or nonsense."""
    own = {name: to_word(each) for name, each in values_of(pattern, found["own"]).items()}
    shown = {name: handles.show(text) for name, text in own.items()}
    for name, text in own.items():
        yield words_of(pattern, {**shown, name: text})
        yield words_of(pattern, {**shown, name: "nonsense"})


def find_keys(outcome: Outcome) -> list[str]:
    printed = outcome.out + outcome.err
    return [printed[each.start() : each.end() + 40] for each in KEY.finditer(printed)]


@pytest.mark.parametrize("principal", ["customer", "seller", "visitor"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_no_pattern_shows_a_key(
    run: Run, db: Path, found: dict[str, Found], pattern: Pattern[..., Any], principal: str
) -> None:
    with keyfold.open(table, db) as store:
        handles = handles_of(store, principal)
    shown: set[str] = set()
    for (name, *words), options in variants(pattern, found, handles):
        outcome = run("run", "market", name, *PRINCIPALS[principal], *options, *words)
        assert find_keys(outcome) == [], words
        assert "Traceback" not in outcome.err
        shown.update(HANDLE.findall(outcome.out + outcome.err))
    for handle in shown:
        # Each belongs to this principal, and is a system key.
        assert KEY.match(handles.read(handle))


@pytest.mark.parametrize("principal", PRINCIPALS)
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_the_shell_shows_no_key(
    run: Run,
    db: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: dict[str, Found],
    principal: str,
    options: tuple[str, ...],
) -> None:
    with keyfold.open(table, db) as store:
        handles = handles_of(store, principal)
    lines = [*LISTINGS, f"select * from Market where pk = 'U#{USER}';", "next", "limit 2"]
    for pattern in PATTERNS:
        every = [each for each, _ in variants(pattern, found, handles)]
        for name, _, *words in [*every, *single_variants(pattern, found, handles)]:
            lines += [f"run {name} {shlex.join(words)}".replace("\n", " "), "next"]
    outcome = enter(run, monkeypatch, principal, lines, options)
    assert find_keys(outcome) == []
    assert "Traceback" not in outcome.err
    shown = {*HANDLE.findall(outcome.out)}
    assert shown
    # Every handle is accepted as a parameter.
    lines = [f"find-by-key --key {each}" for each in shown]
    outcome = enter(run, monkeypatch, principal, lines, options)
    assert find_keys(outcome) == []
    assert "there is no such id" not in outcome.out + outcome.err
    # Nobody else can use them.
    others = [each for each in PRINCIPALS if each != principal]
    outcome = enter(run, monkeypatch, others[0], lines, options)
    assert (outcome.out + outcome.err).count("there is no such id") == len(lines)


def enter(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    principal: str,
    lines: list[str],
    options: tuple[str, ...] = (),
) -> Outcome:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    return run("shell", "market", *PRINCIPALS[principal], *options)


def test_the_search_for_keys_finds_what_staff_sees(run: Run, db: Path) -> None:
    words = ("run", "market", "last-orders", "--user", USER, "--count", "1")
    for options in ((), ("--json",)):
        assert find_keys(run(*words, "--as", "fulfilment", *options))
        outcome = run(*words, *PRINCIPALS["customer"], *options)
        assert find_keys(outcome) == []
        assert HANDLE.search(outcome.out)


# What end users see instead.


def test_calls_name_templates(run: Run, db: Path) -> None:
    words = ("run", "market", "last-orders", "--user", USER, "--count", "1")
    outcome = run(*words, *PRINCIPALS["customer"])
    assert "Query: pk = U#{user}#O AND begins_with(sk, O#)" in outcome.out
    document = json.loads(run(*words, *PRINCIPALS["customer"], "--json").out)
    assert document["calls"][0]["key"] == "pk = U#{user}#O AND begins_with(sk, O#)"


def test_ids_are_handles_in_every_place(run: Run, db: Path, found: dict[str, Found]) -> None:
    with keyfold.open(table, db) as store:
        handles = handles_of(store, "customer")
    cart, product = found["own"].entities[Cart], found["other"].entities[Product]
    words = ("put-in-cart", "--user", USER, "--cart", handles.show(cart.cart))
    given = {"seller": product.user, "quantity": 2}
    more = ("--product", handles.show(product.product), "--line", json.dumps(given))
    outcome = run("run", "market", *words, *more, *PRINCIPALS["customer"], "--json")
    assert outcome.code == 0, outcome
    answer = json.loads(outcome.out)["answer"]
    assert answer["cart"] == handles.show(cart.cart)
    # The key of a map.
    assert handles.show(product.product) in answer["lines"]


def test_end_users_create_what_has_an_id_and_use_its_handle(run: Run, db: Path) -> None:
    words = ("add-product", "--product", json.dumps({"user": USER, "name": "Lamp", "price": 9}))
    principal = PRINCIPALS["customer and seller"]
    outcome = run("run", "market", *words, *principal, "--json")
    product = json.loads(outcome.out)["answer"]["product"]
    outcome = run("run", "market", "create-cart", "--user", USER, *principal, "--json")
    cart = json.loads(outcome.out)["answer"]["cart"]
    words = ("put-in-cart", "--user", USER, "--cart", cart, "--product", product)
    line = ("--line", json.dumps({"seller": USER}))
    outcome = run("run", "market", *words, *line, *principal, "--json")
    assert json.loads(outcome.out)["answer"]["lines"] == {product: {"seller": USER, "quantity": 1}}


def test_an_entity_with_handles_is_accepted_as_it_was_shown(
    run: Run, db: Path, found: dict[str, Found]
) -> None:
    words = ("run", "market", "user-profile", "--user", USER, "--json")
    shown = json.loads(run(*words, *PRINCIPALS["customer"]).out)["answer"]["carts"][0]
    order = handles_of_file(db, "customer").show(OrderId.new())
    given = ("--cart", json.dumps(shown), "--order", order, "--id", "new")
    outcome = run("run", "market", "place-order", *given, *PRINCIPALS["customer"])
    # It is read, and then refused: customers do not place orders.
    assert "is not valid for type" not in outcome.err


def handles_of_file(db: Path, principal: str) -> Handles:
    with keyfold.open(table, db) as store:
        return handles_of(store, principal)


def test_a_line_of_an_order_is_found_by_a_text_with_a_handle(
    run: Run, db: Path, found: dict[str, Found]
) -> None:
    words = ("run", "market", "order-by-id", "--id", "2026-9001", "--json")
    order = json.loads(run(*words, *PRINCIPALS["customer"]).out)["answer"]["order"]["order"]
    key = ("--key", f"{order}#001", "--json")
    outcome = run("run", "market", "find-by-key", *key, *PRINCIPALS["customer"])
    assert json.loads(outcome.out)["answer"]["line"] == 1


def test_errors_name_entities_and_handles(run: Run, db: Path) -> None:
    handles = handles_of_file(db, "customer")
    cart, product = handles.show(CartId.new()), handles.show(ProductId.new())
    words = ("take-from-cart", "--user", USER, "--cart", cart, "--product", product)
    outcome = run("run", "market", *words, *PRINCIPALS["customer"])
    assert outcome.code == 1
    assert outcome.err == f"keyfold: Cart {cart} does not exist. [not-found]\n"
    outcome = run("run", "market", *words, *PRINCIPALS["customer"], "--json")
    error = {"code": "not-found", "message": f"Cart {cart} does not exist. [not-found]"}
    assert json.loads(outcome.out)["error"] == error


def test_a_handle_of_another_type_does_not_exist(run: Run, db: Path) -> None:
    handles = handles_of_file(db, "customer")
    wrong = handles.show(OrderId.new())
    words = ("take-from-cart", "--user", USER, "--cart", wrong, "--product", wrong)
    outcome = run("run", "market", *words, *PRINCIPALS["customer"])
    assert outcome.code == 2
    assert "CartId: there is no such id. Give it as it was shown to you." in outcome.err


def test_items_that_cannot_be_read_are_counted_without_their_keys(run: Run, db: Path) -> None:
    words = ("run", "market", "last-orders", "--user", USER, "--count", "50", "--json")
    outcome = run(*words, *PRINCIPALS["customer"])
    invalid = json.loads(outcome.out)["invalid"]
    assert invalid
    assert {each["reason"] for each in invalid} == {"it does not fit its declaration"}
    assert {*map(str, (each["key"] for each in invalid))} == {"{}"}


def test_without_a_lasting_key_a_command_refuses(
    run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local")
    with Engine.open(db, upkeep_seconds=None) as engine, Server(engine, port=0).running() as url:
        words = ("last-orders", "--user", USER, "--count", "1", "--db", url)
        outcome = run("run", "market", *words, *PRINCIPALS["customer"])
        assert outcome.code == 2
        assert "KEYFOLD_CURSOR_KEY: got None. Handles have to stay the same" in outcome.err
        monkeypatch.setenv("KEYFOLD_CURSOR_KEY", "a key that every process has")
        outcome = run("run", "market", *words, *PRINCIPALS["customer"])
        assert outcome.code == 0
        assert HANDLE.search(outcome.out)


def test_every_role_of_the_market_is_of_end_users_or_of_staff() -> None:
    assert {role.name for role in table.roles.values() if role.is_end_user} == {
        "customer",
        "seller",
        "visitor",
    }
