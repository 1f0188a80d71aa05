"""Exports a role as an IAM policy, as far as IAM can express it.

Statements are built action by action. IAM decides on a batch as a whole, so all partitions in which
an action is allowed in the same way go into one statement. What IAM cannot express is left out
rather than weakened, and reported as a gap; so is anything in which the policy is wider than the
role.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from keyfold.api import OPERATIONS, names_where
from keyfold.keys import GlobPiece, KeyTemplate, Wildcard, can_fit, find_globs, is_free_text
from keyfold.policy._layouts import OWN_START, IndexLayout, Layout, join_names
from keyfold.policy._operations import MOVING, SHOWING
from keyfold.policy._rights import WRITE, Right, Role
from keyfold.policy._rules import Grant, join_grants, rules_of
from keyfold.policy.iam._action_rules import (
    ITEM_ACTIONS,
    SETTING_ACTIONS,
    ActionRule,
    find_action_rule,
    find_gaps,
    read_rule,
)
from keyfold.policy.iam._decisions import partition_of
from keyfold.policy.iam._gaps import Direction, Gap, system_keys_gap
from keyfold.policy.iam._statements import (
    Keys,
    PartitionPatterns,
    StatementList,
    group_patterns,
    keys_of,
    name_statement,
    tag_conditions,
)

# The limit for a managed policy, without whitespace.
MAX_CHARACTERS = 6_144

_BATCHES = sorted(names_where(lambda each: each.is_batch))
# Guards of unique values and other items of Keyfold's own.
_OWN: tuple[GlobPiece, ...] = (OWN_START, Wildcard.ANY)
# Operations that IAM cannot restrict to a table; the second set can name one in the request.
_ACCOUNT_WIDE = frozenset({"DescribeEndpoints", "DescribeLimits", "ListGlobalTables", "ListTables"})
_LISTING = frozenset(
    {
        "ListBackups",
        "ListBulkOperations",
        "ListContributorInsights",
        "ListExports",
        "ListImports",
    }
)
_STATEMENTS = OPERATIONS["ExecuteStatement"].iam_actions


class Export(NamedTuple):
    """A policy document, and its differences from the role or roles it was exported from."""

    document: dict[str, Any]
    gaps: tuple[Gap, ...]

    def to_json(self) -> str:
        """Return the document as JSON text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)


def export_policy(
    layout: Layout, role: Role, *roles: Role, region: str = "*", account: str = "*"
) -> Export:
    """Return the IAM policy of a role, for principals tagged with their ids.

    The role's tenant becomes `${aws:PrincipalTag/…}`. The policy allows nothing that the role does
    not allow, except where a gap says "wider". With several roles, it has the statements of all of
    them, for principals that have all of these roles.
    """
    exports = {
        each.name: _Exporter(layout, each, region, account).export() for each in (role, *roles)
    }
    return exports[role.name] if len(exports) == 1 else _join_exports(exports)


def _join_exports(exports: Mapping[str, Export]) -> Export:
    """Return one policy for a principal that has several roles, by the names of the roles."""
    statements = [
        {**statement, "Sid": name_statement([name]) + statement["Sid"]}
        for name, export in exports.items()
        for statement in export.document["Statement"]
    ]
    # These are about a whole policy, so they are looked for in the joined one.
    gaps = [
        gap
        for export in exports.values()
        for gap in export.gaps
        if gap.kind not in ("length", "mixed-batches")
    ]
    for action in _BATCHES:
        allowing = [each for each in statements if f"dynamodb:{action}" in each["Action"]]
        if len({json.dumps([each["Resource"], each.get("Condition")]) for each in allowing}) > 1:
            gaps.append(_mixed_batches_gap(action, "roles"))
    document = {"Version": "2012-10-17", "Statement": statements}
    gaps.extend(_find_length_gap(document, f"roles {join_names(exports)}"))
    return Export(document, tuple(gaps))


def _mixed_batches_gap(action: str, owner: str) -> Gap:
    fact = (
        "IAM decides on a batch as a whole, and no single statement covers all the partitions that "
        f"the {owner} may use, so a batch across them is denied"
    )
    advice = "Send one batch for each shard."
    return Gap("mixed-batches", "narrower", frozenset({action}), action, fact, advice)


def _find_length_gap(document: dict[str, Any], subject: str) -> Iterable[Gap]:
    length = len("".join(json.dumps(document, ensure_ascii=False).split()))
    if length > MAX_CHARACTERS:
        fact = f"the policy has {length:,} characters; AWS takes at most {MAX_CHARACTERS:,}"
        advice = "Split its statements into several policies."
        yield Gap("length", "same", frozenset(), subject, fact, advice)


class _Exporter:
    def __init__(self, layout: Layout, role: Role, region: str, account: str) -> None:
        self._layout, self._role = layout, role
        self._rules = rules = rules_of(layout, role)
        self._grants = {grant.parts[0][0]: grant for grant, _ in rules.areas.values()}
        service = f"arn:{partition_of(region)}:dynamodb"
        self._table = f"{service}:{region}:{account}:table/{layout.table}"
        self._global_table = f"{service}::{account}:global-table/{layout.table}"
        self._statements = StatementList(tag_conditions(role.tenant, rules.tenant_templates))
        self._gaps: dict[Gap, frozenset[str]] = {}

    def export(self) -> Export:
        for grant in self._all_grants():
            for gap in find_gaps(grant):
                self._record_gap(gap)
        for action in ITEM_ACTIONS:
            self._add_items(action)
        self._add_scan()
        for index in self._layout.indexes.values():
            if not index.is_local:
                self._add_index(index)
        self._report_lookups()
        self._add_operations()
        self._report_remaining_gaps()
        document = self._statements.to_document()
        self._report_length(document)
        role = self._role.name
        gaps = [gap._replace(actions=actions, role=role) for gap, actions in self._gaps.items()]
        return Export(document, tuple(gaps))

    def _all_grants(self) -> Iterable[Grant]:
        yield from (grant for grant in self._grants.values() if grant.rights)
        if self._rules.otherwise is not None and self._rules.otherwise.rights:
            yield self._rules.otherwise

    def _grant_of(self, area: str) -> Grant:
        grant = self._grants.get(area, self._rules.otherwise)
        assert grant is not None  # `otherwise` is the grant of the area without templates
        return grant

    def _add_gap(
        self,
        kind: str,
        direction: Direction,
        actions: Iterable[str],
        subject: str,
        fact: str,
        advice: str = "",
        index_name: str | None = None,
    ) -> None:
        self._record_gap(
            Gap(kind, direction, frozenset(actions), subject, fact, advice, index_name)
        )

    def _record_gap(self, gap: Gap) -> None:
        """Record a gap once, with all the actions that it applies to."""
        known = gap._replace(actions=frozenset())
        self._gaps[known] = self._gaps.get(known, frozenset()) | gap.actions

    # Items of the table

    def _add_items(self, action: str) -> None:
        rules_by_area = {
            name: find_action_rule(action, grant) for name, grant in self._grants.items()
        }
        rest = self._find_rule(action, self._rules.otherwise)
        own = self._find_rule(action, self._rules.everything)
        distinct_rules = dict.fromkeys([*rules_by_area.values(), rest, own])
        for rule in distinct_rules:
            if rule is None:
                continue
            names = [name for name, each in rules_by_area.items() if each == rule]
            if rule == rest:
                left_out = self._add_rest(action, rule, names, takes_own=own == rule)
                # The statement for the rest excludes the partitions of all tenants and those that
                # look like another area's, so these need statements of their own.
                templates = [
                    (name, template)
                    for name in names
                    for template in self._layout.areas[name].templates
                    if self._is_own(template) or any(can_fit(template, each) for each in left_out)
                ]
            else:
                templates = [
                    (name, template)
                    for name in names
                    for template in self._layout.areas[name].templates
                ]
                if own == rule:
                    keys = Keys((_OWN,))
                    self._add("OwnItems", action, keys, rule)
            listed_patterns = [self._patterns_of(name, template) for name, template in templates]
            exportable = [
                patterns
                for patterns in listed_patterns
                if self._can_export(action, patterns, rules_by_area, rule, rest)
            ]
            for group in group_patterns(exportable):
                keeps_out = own != rule and any(map(_may_be_own, group))
                keys = keys_of(group, (_OWN,) if keeps_out else ())
                areas = dict.fromkeys(patterns.area for patterns in group)
                self._add(name_statement(areas), action, keys, rule)

    def _find_rule(self, action: str, grant: Grant | None) -> ActionRule | None:
        return None if grant is None else find_action_rule(action, grant)

    def _is_own(self, template: KeyTemplate) -> bool:
        return self._role.tenant in template.fields

    def _patterns_of(self, area: str, template: KeyTemplate) -> PartitionPatterns:
        kept = self._role.tenant if self._is_own(template) else None
        return PartitionPatterns(area, template, find_globs(template, kept))

    def _add(self, sid: str, action: str, keys: Keys, rule: ActionRule) -> None:
        resources = [self._table]
        if action == "Query":
            # A local index has the same partitions as the table.
            resources += self._indexes(self._rules.local - rule.closed)
        self._statements.add(sid, [action], resources, keys, rule)

    def _indexes(self, names: Iterable[str]) -> list[str]:
        return [f"{self._table}/index/{name}" for name in sorted(names)]

    def _add_rest(
        self, action: str, rule: ActionRule, names: list[str], *, takes_own: bool
    ) -> list[tuple[GlobPiece, ...]]:
        """Allow an action in all partitions without another rule; return the patterns excluded."""
        others = [
            template
            for area in self._layout.areas.values()
            for template in area.templates
            if area.name not in names or self._is_own(template)
        ]
        unwanted = [glob.pieces for template in others for glob in find_globs(template)]
        if not takes_own:
            unwanted.append(_OWN)
        if not unwanted:
            keys = Keys(None, (), is_required=False)
        else:
            keys = Keys(None, tuple(dict.fromkeys(unwanted)))
            self._add_gap(
                "look-alikes",
                "narrower",
                [action],
                "partitions outside every shard",
                "those that look like a shard's, but have an empty or malformed part, are left out: "
                "IAM cannot distinguish them",
            )
        self._add("Rest" if unwanted else "Everything", action, keys, rule)
        return unwanted

    def _can_export(
        self,
        action: str,
        patterns: PartitionPatterns,
        rules_by_area: dict[str, ActionRule | None],
        rule: ActionRule,
        rest: ActionRule | None,
    ) -> bool:
        """Return whether patterns can be exported; add a gap if they match more than the keys."""
        if all(glob.is_exact for glob in patterns.globs):
            return True
        text = patterns.template.text
        for area in self._layout.areas.values():
            if area.name == patterns.area:
                continue
            for template in area.templates:
                is_alike = rules_by_area[area.name] == rule and not self._is_own(template)
                if not is_alike and any(can_fit(template, glob.pieces) for glob in patterns.globs):
                    self._add_gap(
                        "key-parts",
                        "narrower",
                        [action],
                        patterns.area,
                        f"IAM cannot distinguish the partitions {text} from those of {area.name}, "
                        "so they are left out",
                        "Start the two templates with different literals.",
                    )
                    return False
        if rest != rule:
            self._add_gap(
                "key-parts",
                "wider",
                [action],
                patterns.area,
                f"IAM cannot validate the parts of {text}, so partitions of that length and form "
                "that belong to no entity are allowed, too",
                "Keyfold stores nothing there; do not let other programs store anything there.",
            )
        return True

    # Everything else

    def _add_scan(self) -> None:
        everything = self._rules.everything
        if everything is not None and everything.rights & Right.QUERY.value:
            indexes = self._layout.indexes.keys() - everything.closed if everything.hidden else "*"
            resources = [self._table, *self._indexes(indexes)]
            self._statements.add("Scan", ["Scan"], resources, rule=read_rule(everything))

    def _add_index(self, index: IndexLayout) -> None:
        resource = f"{self._table}/index/{index.name}"
        tenant = self._role.tenant
        if tenant is None:
            grant = self._rules.indexes[index.name].grant
            if grant.rights & Right.QUERY.value and index.name not in grant.closed:
                sid = name_statement([index.name])
                self._statements.add(sid, ["Query"], [resource], rule=read_rule(grant))
            return
        for group in index.find_own(tenant):
            areas = dict.fromkeys(entry.area for entry in group)
            grant = join_grants(map(self._grant_of, areas))
            if not grant.rights & Right.QUERY.value or index.name in grant.closed:
                continue
            if self._leave_out_index(index):
                continue
            template = group[0].templates[0]
            assert template is not None  # the only one, so it has the tenant
            listed_patterns = [
                PartitionPatterns(index.name, each, find_globs(each, tenant))
                for entry in group
                for each in entry.templates
                if each is not None
            ]
            if not all(self._can_export_index(index, patterns) for patterns in listed_patterns):
                continue
            sid = name_statement([index.name])
            rule = read_rule(grant)
            for together in group_patterns(listed_patterns):
                keys = keys_of(together)
                self._statements.add(sid, ["Query"], [resource], keys, rule)

    def _report_lookups(self) -> None:
        for name in sorted(self._role.lookups):
            self._add_gap(
                "lookups",
                "narrower",
                ["Query"],
                f"index {name}",
                "IAM cannot limit a query to the items that the role may read, so lookups are left "
                "out",
                "Look items up in a service with its own role.",
                name,
            )

    def _leave_out_index(self, index: IndexLayout) -> bool:
        written = self._setting_actions()
        if written:
            self._add_gap(
                "index-queries",
                "narrower",
                ["Query"],
                f"index {index.name}",
                "the role also writes items, and IAM cannot see which index partition an item is "
                "put into, so any tenant could have put an item there: queries are left out",
                "Query it in a service with its own role.",
                index.name,
            )
        elif len(index.partition) > 1:
            self._add_gap(
                "index-parts",
                "narrower",
                ["Query"],
                f"index {index.name}",
                "its partition key has several attributes, and it is not documented what IAM gets "
                "for them, so queries are left out",
                "Query it in a service with its own role.",
                index.name,
            )
        return bool(written) or len(index.partition) > 1

    def _can_export_index(self, index: IndexLayout, patterns: PartitionPatterns) -> bool:
        if all(glob.is_exact for glob in patterns.globs):
            return True
        self._add_gap(
            "key-parts",
            "narrower",
            ["Query"],
            f"index {index.name}",
            f"IAM cannot validate the parts of {patterns.template.text}, so queries are left out",
            "Query it in a service with its own role.",
            index.name,
        )
        return False

    def _setting_actions(self) -> list[str]:
        return [action for action in SETTING_ACTIONS if self._statements.count_with(action)]

    def _add_operations(self) -> None:
        left_out = self._role.operations & (SHOWING | MOVING)
        if left_out:
            actions = {*left_out, *_STATEMENTS} if left_out & MOVING else left_out
            self._add_gap(
                "operations",
                "narrower",
                actions,
                join_names(sorted(left_out)),
                "operations that show or move items of every partition are left out",
                "Write a policy for them by hand, with everything that AWS requires.",
            )
        account_wide = self._role.operations & (_ACCOUNT_WIDE | _LISTING)
        per_table = self._role.operations - left_out - account_wide
        if account_wide:
            self._statements.add("Operations", sorted(account_wide), ["*"])
        if account_wide & _LISTING:
            self._add_gap(
                "operations",
                "wider",
                account_wide & _LISTING,
                join_names(sorted(account_wide & _LISTING)),
                "IAM cannot restrict this to one table",
            )
        if per_table:
            resources = [self._table, f"{self._table}/*"]
            if any("GlobalTable" in name for name in per_table):
                resources.append(self._global_table)
            self._statements.add("TableOperations", sorted(per_table), resources)

    # Remaining gaps

    def _report_remaining_gaps(self) -> None:
        role, layout = self._role, self._layout
        for action in _BATCHES:
            if self._statements.count_with(action) > 1:
                self._record_gap(_mixed_batches_gap(action, "role"))
        if self._rules.watched and self._setting_actions():
            indexes = join_names(dict.fromkeys(name for _, name, _ in self._rules.watched))
            self._add_gap(
                "index-writes",
                "wider",
                self._setting_actions(),
                indexes,
                f"IAM cannot see what is written, so an item may be put into the index partition "
                f"of another {role.tenant}",
                "Do not trust the index: get the item, and check whose it is.",
            )
        self._report_unique_gaps()
        if role.is_end_user:
            self._record_gap(system_keys_gap(role.name))
        several = [
            area.name
            for area in layout.areas.values()
            if len(area.entities) > 1 and role.can.get(area.name)
        ]
        if several:
            self._add_gap(
                "entities",
                "same",
                (),
                join_names(several),
                "entities in one partition cannot be distinguished, so a right is for all of them",
            )
        tenant = role.tenant
        templates = self._rules.tenant_templates
        if tenant is not None and not all(is_free_text(each, tenant) for each in templates):
            self._add_gap(
                "tag-form",
                "wider",
                (),
                f"aws:PrincipalTag/{tenant}",
                "IAM cannot validate the tag",
                "Tag principals with their ids exactly as keys have them.",
            )

    def _report_unique_gaps(self) -> None:
        everything = self._rules.everything
        if everything is not None and not (WRITE | Right.GET).value & ~everything.rights:
            return
        writes = (Right.CREATE | Right.UPDATE | Right.DELETE).value
        names = sorted(
            guard
            for area in self._layout.areas.values()
            for entity in area.entities
            for guard in self._layout.unique.get(entity, ())
            if area.name in self._grants and self._grants[area.name].rights & writes
        )
        if names:
            self._add_gap(
                "unique-values",
                "narrower",
                (),
                join_names(dict.fromkeys(names)),
                "unique values have guard items, and IAM cannot keep a role from releasing those of "
                "others, so a store's writes of these values are denied",
                "Let a service with its own role write them.",
            )

    def _report_length(self, document: dict[str, Any]) -> None:
        if not document["Statement"]:
            fact = "IAM can express nothing of what the role may do, so the policy allows nothing"
            self._add_gap("nothing", "same", (), f"role {self._role.name}", fact)
        for gap in _find_length_gap(document, f"role {self._role.name}"):
            self._record_gap(gap)


def _may_be_own(patterns: PartitionPatterns) -> bool:
    """Return whether patterns may match the partitions of Keyfold's own items."""
    for glob in patterns.globs:
        first = glob.pieces[0]
        known = first if isinstance(first, str) else ""
        is_whole = len(glob.pieces) == 1 and isinstance(first, str)
        if not is_whole and (OWN_START.startswith(known) or known.startswith(OWN_START)):
            return True
    return False
