"""Trials: patterns run as a role on example items in memory, so that nothing of the database is touched.

A pattern's calls are decided on by the guard of the role itself, step by step, exactly as in a database:
only the items are examples. Those that belong to a tenant are there twice, as the role's own and as
another's.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from keyfold.analysis import find_sample
from keyfold.analysis.arguments import ArgumentFinder
from keyfold.analysis.profiles import profile_pattern
from keyfold.analysis.samples import name_entity
from keyfold.analysis.scratch import ScratchTable
from keyfold.analysis.workload import PatternUse
from keyfold.errors import AccessDenied, KeyfoldError
from keyfold.model import Entity, Pattern, Table
from keyfold.model._calls import Authority
from keyfold.model._requests import Chain, DerivedRequest
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.policy import Access, Denial, Guard, Right, Role
from keyfold.policy._rules import rules_of
from keyfold.store import Store
from keyfold.store._principals import PrincipalSettings
from keyfold.store._settings import StoreSettings
from keyfold.values import Item

# "own": it runs for the tenant's own items, and is denied for others.
Outcome = Literal["runs", "own", "denied", "unknown"]
# Arguments are looked for among this many entities of a kind.
_ENTITIES = 2


class TracingSettings(PrincipalSettings):
    """The settings of a principal's store, which remember the access that was denied."""

    denied: Access | None = None
    # The guards of unique values that it would have taken or released.
    unique: frozenset[str] | None = None

    def _check_access(self, access: Access, authority: Authority) -> None:
        try:
            super()._check_access(access, authority)
        except AccessDenied:
            if authority.replaces_expired:
                access = access._replace(rights=access.rights & ~Right.UPDATE)
            self.denied, self.unique = access, authority.guards
            raise

    def _find_raw_denial(self, access: Access) -> Denial | None:
        found = super()._find_raw_denial(access)
        if found is not None:
            self.denied, self.unique = access, None
        return found


@dataclass(frozen=True, slots=True)
class TrialRefusal:
    """An access that a role lacks a right for: the `step` of a pattern's calls, counted from 1."""

    access: Access
    fact: str
    step: int = 1
    unique: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a pattern that was tried as a role; `note` says why, or what it may depend on."""

    pattern: Pattern[..., Any]
    outcome: Outcome
    note: str = ""
    refusal: TrialRefusal | None = None
    arguments: Mapping[str, Any] | None = None
    # The calls that it made before it was denied, or all.
    operations: tuple[str, ...] = ()


class _Attempt(NamedTuple):
    """One run as the role: why it was denied, or None; and whether it returned anything."""

    refusal: TrialRefusal | None
    found: bool
    operations: tuple[str, ...]


class TrialTable:
    """Example items of a table, on which patterns are tried as a principal of one role."""

    def __init__(self, scratch: ScratchTable, role: Role, ids: Mapping[str, str]) -> None:
        self.table, self.role = scratch.table, role
        self._scratch, self._ids = scratch, ids
        self.own: list[Entity] = []
        self._others: list[Entity] = []
        self._load()

    def _load(self) -> None:
        own = None if self.role.tenant is None else self._ids.get(self.role.tenant)
        listed: list[Item] = []
        for entity in _list_examples(self.table):
            moved = None if own is None else move_entity(self.table, self.role, entity, own)
            if moved is None:
                self.own.append(entity)
                self._others.append(entity)
                listed.append(encode_entity(entity))
                continue
            self.own.append(moved)
            listed.append(encode_entity(moved))
            if moved != entity:
                self._others.append(entity)
                listed.append(encode_entity(entity))
        self._scratch.load(listed)
        self._scratch.keep()

    def try_pattern(self, pattern: Pattern[..., Any]) -> Trial:
        """Return what becomes of a pattern, for the principal's own items and for others'."""
        arguments, finds = self._find_arguments(pattern, self.own)
        if arguments is None:
            note = "not known: the examples have no arguments for it"
            return Trial(pattern, "unknown", note)
        attempt = self._run(pattern, arguments)
        if attempt.refusal is not None and self.role.tenant is not None:
            named = self._name_own(arguments, attempt.refusal.access)
            if named is not None:
                second = self._run(pattern, named)
                if second.refusal is None:
                    note = f"for its own {self.role.tenant}"
                    return Trial(pattern, "own", note, None, named, second.operations)
                attempt, arguments = second, named
        if attempt.refusal is not None:
            return Trial(pattern, "denied", "", attempt.refusal, arguments, attempt.operations)
        if find_lookups(pattern):
            # What a lookup finds is not returned to a role that may not read it.
            note = "looks up" if attempt.found or not finds else "looks up, but may not read it"
            return Trial(pattern, "runs", note, None, arguments, attempt.operations)
        if self._depends_on_item(pattern, arguments):
            note = f"depends on the item: its own {self.role.tenant}'s only"
            return Trial(pattern, "own", note, None, arguments, attempt.operations)
        return Trial(pattern, "runs", "", None, arguments, attempt.operations)

    def _depends_on_item(self, pattern: Pattern[..., Any], arguments: Mapping[str, Any]) -> bool:
        """Return whether a pattern whose arguments name no tenant is denied for others' items."""
        own = None if self.role.tenant is None else self._ids[self.role.tenant]
        if own is None or any(_holds(each, own, self.role.tenant) for each in arguments.values()):
            return False
        others, _ = self._find_arguments(pattern, self._others)
        return others is not None and self._run(pattern, others).refusal is not None

    def _name_own(self, arguments: Mapping[str, Any], access: Access) -> dict[str, Any] | None:
        """Return arguments with the tenant's id in place of another's that a denied key has."""
        tenant = self.role.tenant
        text = "" if not access.partition else access.partition[0].get("S", "")
        match = rules_of(self.table.layout, self.role).find(text)
        if tenant is None or match is None or match.tenant in (None, self._ids[tenant]):
            return None
        named = {
            name: self._ids[tenant] if value == match.tenant else value
            for name, value in arguments.items()
        }
        return None if named == arguments else named

    def _find_arguments(
        self, pattern: Pattern[..., Any], entities: Sequence[Entity]
    ) -> tuple[Mapping[str, Any] | None, bool]:
        """Return arguments with which a pattern runs as the administrator, and whether it finds something."""
        # The function is a user's, and may raise anything.
        with suppress(Exception):
            profile = profile_pattern(self._scratch, pattern, entities, PatternUse())
            if profile.runs:
                return profile.runs[0].arguments, profile.runs[0].returned > 0
        with suppress(Exception):
            arguments = ArgumentFinder(pattern, {}).from_example()
            pattern(**arguments)
            return arguments, False
        return None, False

    def _run(self, pattern: Pattern[..., Any], arguments: Mapping[str, Any]) -> _Attempt:
        """Run a pattern as the principal; an entity that is passed is taken to be new, then stored."""
        passed = [each for each in arguments.values() if isinstance(each, Entity)]
        found = self._run_once(pattern, arguments, passed)
        if passed and found.refusal is None and not found.found:
            again = self._run_once(pattern, arguments, ())
            found = again if again.refusal is not None or again.found else found
        return found

    def _run_once(
        self, pattern: Pattern[..., Any], arguments: Mapping[str, Any], without: Iterable[Entity]
    ) -> _Attempt:
        scratch = self._scratch
        store, settings = self._restrict()
        try:
            for each in without:
                with suppress(KeyfoldError):
                    scratch.store.run(type(each).delete(**_key_of(each)))
            scratch.take_calls()
            result = store.run(pattern(**arguments))
        except AccessDenied as error:
            operations = tuple(call.operation for call in scratch.take_calls())
            if settings.denied is None:
                return _Attempt(None, found=False, operations=operations)
            refusal = TrialRefusal(
                settings.denied, error.fact, len(operations) + 1, settings.unique
            )
            return _Attempt(refusal, found=False, operations=operations)
        except Exception:  # noqa: BLE001 - the function is a user's, and may raise anything
            # It passed all checks up to here.
            operations = tuple(call.operation for call in scratch.take_calls())
            return _Attempt(None, found=False, operations=operations)
        finally:
            scratch.roll_back()
        operations = tuple(call.operation for call in scratch.take_calls())
        return _Attempt(None, found=_is_something(result), operations=operations)

    def _restrict(self) -> tuple[Store, TracingSettings]:
        whole: Any = self._scratch.store
        base: StoreSettings = whole._settings  # noqa: SLF001 - hidden from users only
        settings = TracingSettings(base, [self.role.name], self._ids)
        return Store(whole._executor, settings), settings  # noqa: SLF001

    def find_key(self, area: str) -> Item | None:
        """Return the key of an own example item in an area; None if there is none."""
        entities = self.table.layout.areas[area].entities
        for entity in self.own:
            if type(entity).keyfold_schema().name in entities:
                item = encode_entity(entity)
                return {name: item[name] for name in self.table.key.names}
        return None


@contextmanager
def open_trials(table: Table, role: Role, ids: Mapping[str, str]) -> Generator[TrialTable]:
    """Open a table in memory with examples; raises PrincipalInvalid for ids that keys cannot have."""
    Guard(table.layout, role, ids)
    moment = find_sample(table).live_at()
    with ScratchTable(table, clock=lambda: moment) as scratch:
        yield TrialTable(scratch, role, ids)


def _list_examples(table: Table) -> Iterator[Entity]:
    """Yield a few example entities of each kind."""
    counted: dict[str, int] = {}
    for item in find_sample(table).items:
        name = name_entity(table, item)
        if name is None or counted.get(name, 0) == _ENTITIES:
            continue
        with suppress(KeyfoldError, ValidationError, ItemMismatch):
            entity = table.entities[name].decode(item)
            if isinstance(entity, Entity):
                counted[name] = counted.get(name, 0) + 1
                yield entity


def move_entity(table: Table, role: Role, entity: Entity, own: str) -> Entity | None:
    """Return an entity as one of the tenant `own`; None if it belongs to no tenant."""
    schema = type(entity).keyfold_schema()
    if role.tenant is None or role.tenant not in schema.fields:
        return None
    value = _read_id(table, schema, role.tenant, own)
    return entity.model_copy(update={role.tenant: own if value is None else value})


def _read_id(table: Table, schema: EntitySchema, tenant: str, own: str) -> Any:
    """Return the id of a tenant as a value of its field, by the template that has it."""
    templates = [part.template for part in schema.keys if part.template is not None]
    for area in table.layout.areas.values():
        templates += area.templates
    for template in templates:
        for part in template.parts:
            if part.name == tenant:
                return part.format.parse(own)
    return None


def find_lookups(pattern: Pattern[..., Any]) -> tuple[str, ...]:
    """Return the indexes in which a pattern looks items up on behalf of a principal."""
    try:
        request: Any = pattern.placeholder_request()
    except KeyfoldError:
        return ()
    found: list[str] = []
    while isinstance(request, DerivedRequest):
        if isinstance(request, Chain) and request.is_lookup:
            source: Any = request.first
            while isinstance(source, DerivedRequest):
                source = source.source
            index = getattr(source, "index", None)
            found.append("" if index is None else index.name)
        request = request.source
    return tuple(dict.fromkeys(found))


def encode_entity(entity: Entity) -> Item:
    """Return the item of an entity."""
    return type(entity).keyfold_schema().encode(entity)


def _key_of(entity: Entity) -> dict[str, Any]:
    return {name: getattr(entity, name) for name in type(entity).keyfold_schema().key_fields}


def _holds(value: Any, own: str, tenant: str | None) -> bool:
    """Return whether an argument names a tenant: its id, or something that belongs to it."""
    if isinstance(value, BaseModel):
        return tenant is not None and str(getattr(value, tenant, "")) == own
    if isinstance(value, list | tuple):
        return any(_holds(each, own, tenant) for each in value)  # pyright: ignore[reportUnknownVariableType] - of any type
    return str(value) == own


def _is_something(result: Any) -> bool:
    if result is None:
        return False
    try:
        return len(result) > 0
    except TypeError:
        return True
