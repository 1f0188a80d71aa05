"""Expressions and the legacy parameters that came before them.

A text is parsed once and kept; a request binds the tree to its names and values, and gets
something to ask of items: a predicate, a projection, an update, a range of keys.
"""

from __future__ import annotations

from keyfold.engine.expressions.comparison import are_equal, show_value
from keyfold.engine.expressions.conditions import (
    BoundCondition,
    bind_condition,
    check_filter_keys,
    check_operator_count,
    compile_condition,
)
from keyfold.engine.expressions.fast_conditions import FastCondition, read_fast_condition
from keyfold.engine.expressions.faults import ExpressionFault
from keyfold.engine.expressions.key_conditions import (
    AtLeast,
    AtMost,
    BeginsWith,
    BoundKeyExpression,
    EqualTo,
    FastKeyCondition,
    Greater,
    KeyAttribute,
    KeyCondition,
    Less,
    ResolvedKeyCondition,
    SortRange,
    Within,
    bind_key_condition,
    read_fast_key_condition,
)
from keyfold.engine.expressions.legacy import (
    bind_attribute_updates,
    bind_attributes_to_get,
    bind_expected,
    bind_filter,
    bind_key_conditions,
)
from keyfold.engine.expressions.mixing import check_not_mixed, check_placeholders_wanted
from keyfold.engine.expressions.paths import Projection, check_scalar_keys
from keyfold.engine.expressions.placeholders import Placeholders
from keyfold.engine.expressions.projections import bind_projection
from keyfold.engine.expressions.search_conditions import bind_search_condition
from keyfold.engine.expressions.updates import (
    UpdatePlan,
    bind_update,
    check_updated_keys,
    compile_update,
)

__all__ = [
    "AtLeast",
    "AtMost",
    "BeginsWith",
    "BoundCondition",
    "BoundKeyExpression",
    "EqualTo",
    "ExpressionFault",
    "FastCondition",
    "FastKeyCondition",
    "Greater",
    "KeyAttribute",
    "KeyCondition",
    "Less",
    "Placeholders",
    "Projection",
    "ResolvedKeyCondition",
    "SortRange",
    "UpdatePlan",
    "Within",
    "are_equal",
    "bind_attribute_updates",
    "bind_attributes_to_get",
    "bind_condition",
    "bind_expected",
    "bind_filter",
    "bind_key_condition",
    "bind_key_conditions",
    "bind_projection",
    "bind_search_condition",
    "bind_update",
    "check_filter_keys",
    "check_not_mixed",
    "check_operator_count",
    "check_placeholders_wanted",
    "check_scalar_keys",
    "check_updated_keys",
    "compile_condition",
    "compile_update",
    "read_fast_condition",
    "read_fast_key_condition",
    "show_value",
]
