"""Validation of single values: of a field, or of anything inside it, without the whole entity.

The rules of a value are part of the core schema that pydantic compiled the entity's validator from:
its type, constraints and field validators. Validators are built for a part of it when they are first
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, PlainValidator, WrapValidator
from pydantic_core import SchemaValidator

from keyfold.errors import FieldUnknown
from keyfold.model._core_schemas import (
    ANY,
    Definitions,
    Node,
    UnwrappedSchema,
    core_schema_of,
    find_model_fields,
    join_definitions,
    keep_fields,
    unwrap,
)
from keyfold.model._cross_checks import CrossCheck, find_cross_checks, find_fields_with_info
from keyfold.model._placeholders import Placeholder, has_placeholder
from keyfold.model._undeclared import UNDECLARED

E = TypeVar("E", bound=BaseModel)
Step = str | int | Placeholder
Validate = Callable[..., Any]

_VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)
# How many sets of fields an entity keeps a validator for.
_MAX_COPIERS = 64


class Uncheckable(Exception):
    """A value cannot be validated without the rest of the entity; the message says why."""


class ValueRules:
    """The rules of one value: how to validate it, and the rules of the values inside it."""

    def __init__(self, schema: Node, config: Node | None, definitions: Definitions) -> None:
        self.schema = schema
        self._config = config
        self._definitions = definitions
        self._inside: dict[str | int, ValueRules | None] = {}
        self._operands: dict[MakeSchema, Validate] = {}

    @cached_property
    def validate(self) -> Validate:
        """Return a value converted to its type; raises pydantic's ValidationError.

        The fields of a nested model may be given by name or by alias.
        """
        return partial(self.validator_of(self.schema), by_name=True)

    @cached_property
    def unwrapped(self) -> UnwrappedSchema:
        """The type, its constraints and the validators around it."""
        return unwrap(self.schema, self._definitions)

    @cached_property
    def cross_checks(self) -> tuple[CrossCheck, ...]:
        """The validators of a nested model that look at several of its fields."""
        core = self.unwrapped.core
        if core["type"] != "model":
            return ()
        return tuple(each for each in find_cross_checks(core["cls"]) if not each.is_computed)

    def validator_of(self, schema: Node, *, reuses_models: bool = True) -> Validate:
        """Return a function that validates by another schema, as if it were in this place.

        Models in the schema are validated by their own validators, which are compiled already,
        unless `reuses_models` is False: then they are compiled as the schema has them.
        """
        whole = join_definitions(schema, self._definitions)
        config = cast(Any, self._config)
        if not reuses_models:
            # pydantic-core older than 2.35 cannot but reuse them.
            with suppress(TypeError):
                return SchemaValidator(whole, config, _use_prebuilt=False).validate_python
        return SchemaValidator(whole, config).validate_python

    def operand(self, make_schema: MakeSchema) -> Validate:
        """Return the validator of operands, by the schema that is made from these rules."""
        validate = self._operands.get(make_schema)
        if validate is None:
            validate = partial(self.validator_of(make_schema(self)), by_name=True)
            self._operands[make_schema] = validate
        return validate

    def inner(self, schema: Node) -> ValueRules:
        """Return the rules of another schema, as if it were in this place."""
        return ValueRules(schema, self._config, self._definitions)

    def member(self, step: Step) -> ValueRules | None:
        """Return the rules of a field or member; None if they depend on the value."""
        key = step if isinstance(step, str | int) else ""
        core = self.unwrapped.core
        if core["type"] in ("list", "dict", "any"):
            key = ""  # all members have the same rules
        if key not in self._inside:
            self._inside[key] = self._find_member(core, key)
        return self._inside[key]

    def _find_member(self, core: Node, step: str | int) -> ValueRules | None:
        config = self._config
        schema: Node | None = None
        match core["type"]:
            case "any":
                return self
            case "model":
                config = core.get("config")
                schema = _field_of(core, step, self._definitions)
            case "typed-dict":
                schema = core["fields"].get(step, {}).get("schema")
            case "dataclass":
                config = core.get("config")
                fields = {each["name"]: each["schema"] for each in core["schema"]["fields"]}
                schema = fields.get(step)
            case "list":
                schema = core.get("items_schema", ANY)
            case "dict":
                schema = core.get("values_schema", ANY)
            case "tuple":
                schema = _tuple_member(core, step)
            case _:
                pass
        return None if schema is None else ValueRules(schema, config, self._definitions)

    @cached_property
    def validate_key(self) -> Validate | None:
        """Validate a key of a map; None if this is not a map, or if it takes any key."""
        keys: Node | None = self.unwrapped.core.get("keys_schema")
        return None if keys is None or keys == {"type": "str"} else self.validator_of(keys)


def _field_of(core: Node, name: str | int, definitions: Definitions) -> Node | None:
    field = find_model_fields(core, definitions).get(str(name))
    if field is not None:
        return field["schema"]
    inner = unwrap(core["schema"], definitions).core
    if core.get("config", {}).get("extra_fields_behavior") == "allow":
        return inner.get("extras_schema", ANY)
    return None


def _tuple_member(core: Node, position: str | int) -> Node | None:
    members, variadic = core["items_schema"], core.get("variadic_item_index")
    if variadic is not None:
        return members[variadic] if len(members) == 1 else None
    is_inside = isinstance(position, int) and position < len(members)
    return members[position] if is_inside else None


MakeSchema = Callable[[ValueRules], Node]


class EntityRules:
    """The rules of an entity's values, by path; and of a copy with some fields changed."""

    def __init__(self, entity: type[BaseModel]) -> None:
        self._entity = entity
        self._schema, self._definitions = core_schema_of(entity)
        # Errors of a copy are titled like those of a new entity.
        config = {"title": entity.model_config.get("title") or entity.__name__}
        self._root = ValueRules(self._schema, config, self._definitions)
        # The rules of fields, for the most common paths.
        self._fields: dict[str, ValueRules] = {}
        self._copiers: dict[frozenset[str], Validate] = {}

    def find(
        self, steps: tuple[Step, ...], *, checks: bool = True
    ) -> tuple[ValueRules, ValueRules]:
        """Return the rules of the value at a path, and those of the value around it.

        Raises Uncheckable if something around the value has rules about its whole content, unless
        `checks` is False. The checks across fields of the entity are left to the caller.
        """
        if len(steps) == 1 and steps[0] in self._fields:
            return self._fields[str(steps[0])], self._root
        around, rules = self._root, self._root
        for depth, step in enumerate(steps):
            around = rules
            if depth and checks:
                _check_divisible(around, step)
            found = around.member(step)
            if found is None:
                raise Uncheckable("its rules depend on the value around it")
            rules = found
        if around is self._root:
            self._fields[str(steps[0])] = rules
        return rules, around

    def change_copy(self, copied: E, changes: Mapping[str, Any]) -> E:
        """Return a copied entity with some fields changed; raises ValidationError, FieldUnknown.

        The changed fields are validated and converted. So are fields whose validators look at
        others, and validators of the entity run. Values that the copy has cached are left out.
        """
        fields, extra = self._entity.__pydantic_fields__, copied.model_extra
        for name in changes:
            if name not in fields and extra is None:
                raise FieldUnknown(self._entity.__name__, name, tuple(fields))
        held = {name: value for name, value in copied.__dict__.items() if name in fields}
        values = {**held, **(extra or {}), **changes}
        try:
            changed: E = self._copier_of(frozenset(changes))(values)
        except Exception:
            if has_placeholder(values):
                return cast(E, BaseModel.model_copy(copied, update=changes))
            raise
        object.__setattr__(
            changed, "__pydantic_fields_set__", {*copied.__pydantic_fields_set__, *changes}
        )
        object.__setattr__(changed, "__pydantic_private__", copied.__pydantic_private__)
        if UNDECLARED in copied.__dict__:
            vars(changed)[UNDECLARED] = copied.__dict__[UNDECLARED]
        return changed

    def make(self, values: Mapping[str, Any]) -> BaseModel:
        """Return a new entity with these fields, by name; raises pydantic's ValidationError."""
        return self._copier_of(frozenset(self._entity.__pydantic_fields__))(values, strict=False)

    def _copier_of(self, kept: frozenset[str]) -> Validate:
        copier = self._copiers.get(kept)
        if copier is None:
            if len(self._copiers) >= _MAX_COPIERS:
                self._copiers.clear()
            copier = self._copiers[kept] = self._make_copier(kept)
        return copier

    def _make_copier(self, kept: frozenset[str]) -> Validate:
        dependent = find_fields_with_info(self._entity).keys()
        schema = keep_fields(self._schema, self._definitions, kept | dependent)
        if schema is None:
            validate = self._entity.__pydantic_validator__.validate_python
            return partial(validate, by_alias=False, by_name=True)
        # The entity's own fields have no alias here; those of nested models go by both.
        return partial(self._root.validator_of(schema, reuses_models=False), by_name=True)


def rules_of(entity: type[BaseModel]) -> EntityRules:
    """Return the rules of an entity's values; made once, when they are first needed."""
    rules: EntityRules | None = entity.__dict__.get("_keyfold_rules")
    if rules is None:
        rules = EntityRules(entity)
        type.__setattr__(entity, "_keyfold_rules", rules)
    return rules


def find_validated_fields(entity: type[BaseModel]) -> frozenset[str]:
    """Return the fields with validators that look at the field alone: these may normalise it."""
    fields = entity.__pydantic_fields__
    named = {
        name
        for each in entity.__pydantic_decorators__.field_validators.values()
        for name in (fields if "*" in each.info.fields else each.info.fields)
    }
    named |= {
        name
        for name, each in fields.items()
        if any(isinstance(mark, _VALIDATORS) for mark in each.metadata)
    }
    return frozenset(named - find_fields_with_info(entity).keys()) if named else frozenset()


def _check_divisible(around: ValueRules, step: Step) -> None:
    """Raise Uncheckable if a part of a value cannot be validated without the whole."""
    if around.unwrapped.functions:
        function = around.unwrapped.functions[0]
        shown = getattr(function, "__name__", repr(function))
        raise Uncheckable(f"the validator {shown} looks at the whole value around it")
    for check in around.cross_checks:
        if isinstance(step, str) and check.concerns(step):
            raise Uncheckable(f"there is a {check}")
    if around.validate_key is not None and not has_placeholder(step):
        around.validate_key(step)
