"""Values of fields as requests give them for keys: text is converted, and validators are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from keyfold.errors import KeyPartInvalid
from keyfold.keys._shown_values import show
from keyfold.model._codecs import StoredField
from keyfold.model._value_validation import Validate, find_validated_fields, rules_of


class KeyValues:
    """Validates and converts the values of one entity's fields, each on its own.

    `fields` are all fields of the entity: those of index keys are validated as well.
    """

    __slots__ = ("_checked", "_entity", "_fields", "_name", "_validated", "_validators")

    def __init__(
        self, name: str, entity: type[BaseModel], fields: Mapping[str, StoredField]
    ) -> None:
        self._name, self._entity, self._fields = name, entity, fields
        # Fields with validators, and with them those whose type does not accept any text.
        self._validated = find_validated_fields(entity)
        self._checked = self._validated.union(
            name for name in fields if not fields[name].takes_any_text
        )
        self._validators: dict[str, Validate] = {}

    def constrains(self, name: str) -> bool:
        """Return whether a field's value may be refused or changed, although a key can be made of it."""
        return name in self._validated or (self._fields[name].is_text and name in self._checked)

    def coerce(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return field values with text validated and converted by the field's type.

        Validators of a field may normalise its value, so they see values of its own type, too.
        Raises KeyPartInvalid for a value that is not valid for its field.
        """
        for name, value in values.items():
            if name in self._checked and (value.__class__ is str or name in self._validated):
                return {name: self._coerce(name, value) for name, value in values.items()}
        return values

    def _coerce(self, name: str, value: Any) -> Any:
        if name not in self._checked:
            return value
        field = self._fields[name]
        if value.__class__ is not str and not (
            name in self._validated and isinstance(value, field.codec.python or ())
        ):
            return value
        try:
            return self._validator_of(name)(value, strict=False)
        except ValidationError as error:
            if field.is_text:
                fact, advice = "is constrained text", f"{error.errors()[0]['msg']}."
            else:
                fact, advice = f"is of type {field.type_name}", "Pass one, or the text of one."
            raise KeyPartInvalid(
                self._name, f"{{{name}}}", name, fact, show(value), advice
            ) from error

    def _validator_of(self, name: str) -> Validate:
        found = self._validators.get(name)
        if found is None:
            # Validators that look at other fields cannot run here.
            found = self._validators[name] = (
                rules_of(self._entity).find((name,))[0].validate
                if name in self._validated
                else TypeAdapter(self._fields[name].whole_annotation).validate_python
            )
        return found
