"""From a role to the IAM policy that says the same, as far as IAM can say it.

Statements are made action by action: a batch is one decision of IAM, so all that a role may do in
one way is put into one statement. What cannot be said is left out rather than weakened, and told
as a gap; where a policy allows more than the role all the same, a gap says so, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from keyfold.keys import GlobPiece, KeyTemplate, Wildcard, can_fit, find_globs, is_free_text
from keyfold.policy._layouts import UNIQUE_START, IndexLayout, Layout, join_names
from keyfold.policy._operations import MOVING, SHOWING
from keyfold.policy._rights import WRITE, Right, Role
from keyfold.policy._rules import Grant, join_grants, rules_of
from keyfold.policy.iam._action_rules import (
    ITEM_ACTIONS,
    SETTING,
    ActionRule,
    find_gaps,
    find_treatment,
    treat_reads,
)
from keyfold.policy.iam._decisions import partition_of
from keyfold.policy.iam._gaps import Direction, Gap
from keyfold.policy.iam._statements import (
    Keys,
    PartitionPatterns,
    StatementList,
    group_places,
    keys_of,
    name_statement,
    tag_conditions,
)

# What AWS takes for a managed policy, whitespace not counted.
MAX_CHARACTERS = 6_144

_BATCHES = ("BatchGetItem", "BatchWriteItem")
_UNIQUE: tuple[GlobPiece, ...] = (UNIQUE_START, Wildcard.ANY)
# Operations that IAM cannot hold to a table; of the latter, those that may name one.
_UNHELD = frozenset({"DescribeEndpoints", "DescribeLimits", "ListGlobalTables", "ListTables"})
_LISTING = frozenset(
    {
        "ListBackups",
        "ListBulkOperations",
        "ListContributorInsights",
        "ListExports",
        "ListImports",
    }
)
_STATEMENTS = ("PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate")


class Export(NamedTuple):
    """A policy document, and where it differs from the role that it was made of."""

    document: dict[str, Any]
    gaps: tuple[Gap, ...]

    def to_json(self) -> str:
        """Return the document as text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)


def export_policy(layout: Layout, role: Role, *, region: str = "*", account: str = "*") -> Export:
    """Return the IAM policy of a role, for principals tagged with their own ids.

    The role's tenant becomes `${aws:PrincipalTag/…}`. The policy allows nothing that the role does
    not, but for what a gap calls wider.
    """
    return _Exporter(layout, role, region, account).export()


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
                self._keep(gap)
        for action in ITEM_ACTIONS:
            self._add_items(action)
        self._add_scan()
        for index in self._layout.indexes.values():
            if not index.is_local:
                self._add_index(index)
        self._add_operations()
        self._report_remaining_gaps()
        document = self._statements.to_document()
        self._report_length(document)
        gaps = [gap._replace(actions=actions) for gap, actions in self._gaps.items()]
        return Export(document, tuple(gaps))

    def _all_grants(self) -> Iterable[Grant]:
        yield from (grant for grant in self._grants.values() if grant.rights)
        if self._rules.otherwise is not None and self._rules.otherwise.rights:
            yield self._rules.otherwise

    def _grant_of(self, area: str) -> Grant:
        grant = self._grants.get(area, self._rules.otherwise)
        assert grant is not None  # an area without templates has all that is left
        return grant

    def _tell(
        self,
        kind: str,
        direction: Direction,
        actions: Iterable[str],
        subject: str,
        fact: str,
        advice: str = "",
        index_name: str | None = None,
    ) -> None:
        self._keep(Gap(kind, direction, frozenset(actions), subject, fact, advice, index_name))

    def _keep(self, gap: Gap) -> None:
        """Keep a gap once, with all the actions that it is about."""
        known = gap._replace(actions=frozenset())
        self._gaps[known] = self._gaps.get(known, frozenset()) | gap.actions

    # Items of the table

    def _add_items(self, action: str) -> None:
        treatments = {name: find_treatment(action, grant) for name, grant in self._grants.items()}
        rest = self._treat(action, self._rules.otherwise)
        unique = self._treat(action, self._rules.everything)
        ways = dict.fromkeys([*treatments.values(), rest, unique])
        for treatment in ways:
            if treatment is None:
                continue
            names = [name for name, each in treatments.items() if each == treatment]
            if treatment == rest:
                left_out = self._add_rest(
                    action, treatment, names, takes_unique=unique == treatment
                )
                # Of a tenant's areas, the rest has left out everybody's partitions; of others,
                # those that look like another area's.
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
                if unique == treatment:
                    keys = Keys((_UNIQUE,))
                    self._add("UniqueValues", action, keys, treatment)
            places = [self._place(name, template) for name, template in templates]
            sure = [
                place
                for place in places
                if self._is_sure(action, place, treatments, treatment, rest)
            ]
            for group in group_places(sure):
                keeps_out = unique != treatment and any(map(_may_be_unique, group))
                keys = keys_of(group, (_UNIQUE,) if keeps_out else ())
                areas = dict.fromkeys(place.area for place in group)
                self._add(name_statement(areas), action, keys, treatment)

    def _treat(self, action: str, grant: Grant | None) -> ActionRule | None:
        return None if grant is None else find_treatment(action, grant)

    def _is_own(self, template: KeyTemplate) -> bool:
        return self._role.tenant in template.fields

    def _place(self, area: str, template: KeyTemplate) -> PartitionPatterns:
        kept = self._role.tenant if self._is_own(template) else None
        return PartitionPatterns(area, template, find_globs(template, kept))

    def _add(self, sid: str, action: str, keys: Keys, treatment: ActionRule) -> None:
        resources = [self._table]
        if action == "Query":
            # The partitions of a local index are the table's.
            resources += self._indexes(self._rules.local - treatment.closed)
        self._statements.add(sid, [action], resources, keys, treatment)

    def _indexes(self, names: Iterable[str]) -> list[str]:
        return [f"{self._table}/index/{name}" for name in sorted(names)]

    def _add_rest(
        self, action: str, treatment: ActionRule, names: list[str], *, takes_unique: bool
    ) -> list[tuple[GlobPiece, ...]]:
        """Allow what is in no area that says otherwise; return what that leaves out."""
        others = [
            template
            for area in self._layout.areas.values()
            for template in area.templates
            if area.name not in names or self._is_own(template)
        ]
        unwanted = [glob.pieces for template in others for glob in find_globs(template)]
        if not takes_unique:
            unwanted.append(_UNIQUE)
        if not unwanted:
            keys = Keys(None, (), is_required=False)
        else:
            keys = Keys(None, tuple(dict.fromkeys(unwanted)))
            self._tell(
                "look-alikes",
                "narrower",
                [action],
                "partitions outside every shard",
                "those that look like a shard's, though a part of them is empty or of another "
                "form, are left out: IAM cannot tell",
            )
        self._add("Rest" if unwanted else "Everything", action, keys, treatment)
        return unwanted

    def _is_sure(
        self,
        action: str,
        place: PartitionPatterns,
        treatments: dict[str, ActionRule | None],
        treatment: ActionRule,
        rest: ActionRule | None,
    ) -> bool:
        """Tell whether a pattern can be given; say so where it fits more than the keys."""
        if all(glob.is_exact for glob in place.globs):
            return True
        text = place.template.text
        for area in self._layout.areas.values():
            if area.name == place.area:
                continue
            for template in area.templates:
                is_alike = treatments[area.name] == treatment and not self._is_own(template)
                if not is_alike and any(can_fit(template, glob.pieces) for glob in place.globs):
                    self._tell(
                        "key-parts",
                        "narrower",
                        [action],
                        place.area,
                        f"IAM cannot tell the partitions {text} from those of {area.name}, so they "
                        "are left out",
                        "Begin the two with different literals.",
                    )
                    return False
        if rest != treatment:
            self._tell(
                "key-parts",
                "wider",
                [action],
                place.area,
                f"IAM cannot check what the parts of {text} are made of, so partitions of that "
                "length and form that no entity has are allowed, too",
                "Nothing of yours is there; let nobody else store anything there.",
            )
        return True

    # Everything else

    def _add_scan(self) -> None:
        everything = self._rules.everything
        if everything is not None and everything.rights & Right.QUERY.value:
            indexes = self._layout.indexes.keys() - everything.closed if everything.hidden else "*"
            resources = [self._table, *self._indexes(indexes)]
            self._statements.add("Scan", ["Scan"], resources, treatment=treat_reads(everything))

    def _add_index(self, index: IndexLayout) -> None:
        resource = f"{self._table}/index/{index.name}"
        tenant = self._role.tenant
        if tenant is None:
            grant = self._rules.indexes[index.name].grant
            if grant.rights & Right.QUERY.value and index.name not in grant.closed:
                sid = name_statement([index.name])
                self._statements.add(sid, ["Query"], [resource], treatment=treat_reads(grant))
            return
        for group in index.find_own(tenant):
            areas = dict.fromkeys(entry.area for entry in group)
            grant = join_grants(map(self._grant_of, areas))
            if not grant.rights & Right.QUERY.value or index.name in grant.closed:
                continue
            if self._leave_out_index(index):
                continue
            template = group[0].templates[0]
            assert template is not None  # its only one, which has the tenant in it
            places = [
                PartitionPatterns(index.name, each, find_globs(each, tenant))
                for entry in group
                for each in entry.templates
                if each is not None
            ]
            if not all(self._is_sure_in(index, place) for place in places):
                continue
            sid = name_statement([index.name])
            treatment = treat_reads(grant)
            for together in group_places(places):
                keys = keys_of(together)
                self._statements.add(sid, ["Query"], [resource], keys, treatment)

    def _leave_out_index(self, index: IndexLayout) -> bool:
        written = self._setting()
        if written:
            self._tell(
                "index-queries",
                "narrower",
                ["Query"],
                f"index {index.name}",
                "the role also writes items, and IAM cannot see which index partition an item is "
                "put into, so what is found there could be anybody's: queries are left out",
                "Query it in a service with a role of its own.",
                index.name,
            )
        elif len(index.partition) > 1:
            self._tell(
                "index-parts",
                "narrower",
                ["Query"],
                f"index {index.name}",
                "its partition has several attributes, and it is not documented what IAM is told "
                "of them, so queries are left out",
                "Query it in a service with a role of its own.",
                index.name,
            )
        return bool(written) or len(index.partition) > 1

    def _is_sure_in(self, index: IndexLayout, place: PartitionPatterns) -> bool:
        if all(glob.is_exact for glob in place.globs):
            return True
        self._tell(
            "key-parts",
            "narrower",
            ["Query"],
            f"index {index.name}",
            f"IAM cannot check what the parts of {place.template.text} are made of, so queries "
            "are left out",
            "Query it in a service with a role of its own.",
            index.name,
        )
        return False

    def _setting(self) -> list[str]:
        return [action for action in SETTING if self._statements.count_with(action)]

    def _add_operations(self) -> None:
        left_out = self._role.operations & (SHOWING | MOVING)
        if left_out:
            actions = {*left_out, *_STATEMENTS} if left_out & MOVING else left_out
            self._tell(
                "operations",
                "narrower",
                actions,
                join_names(sorted(left_out)),
                "what shows or moves items of every partition is left out",
                "Write a policy for it by hand, with all that AWS wants for it.",
            )
        unheld = self._role.operations & (_UNHELD | _LISTING)
        held = self._role.operations - left_out - unheld
        if unheld:
            self._statements.add("Operations", sorted(unheld), ["*"])
        if unheld & _LISTING:
            self._tell(
                "operations",
                "wider",
                unheld & _LISTING,
                join_names(sorted(unheld & _LISTING)),
                "IAM cannot hold it to one table",
            )
        if held:
            resources = [self._table, f"{self._table}/*"]
            if any("GlobalTable" in name for name in held):
                resources.append(self._global_table)
            self._statements.add("TableOperations", sorted(held), resources)

    # What is to be known besides

    def _report_remaining_gaps(self) -> None:
        role, layout = self._role, self._layout
        for action in _BATCHES:
            if self._statements.count_with(action) > 1:
                self._tell(
                    "mixed-batches",
                    "narrower",
                    [action],
                    action,
                    "a batch is one decision of IAM, and no statement fits all the partitions "
                    "that the role may use, so a batch across them is denied",
                    "Send one for each shard.",
                )
        if self._rules.watched and self._setting():
            indexes = join_names(dict.fromkeys(name for _, name, _ in self._rules.watched))
            self._tell(
                "index-writes",
                "wider",
                self._setting(),
                indexes,
                f"IAM cannot see what is written, so an item may be put into the index partition "
                f"of another {role.tenant}",
                "Do not take what the index says for granted: get the item, and look whose it is.",
            )
        self._report_unique_gaps()
        several = [
            area.name
            for area in layout.areas.values()
            if len(area.entities) > 1 and role.can.get(area.name)
        ]
        if several:
            self._tell(
                "entities",
                "same",
                (),
                join_names(several),
                "entities of one partition cannot be told apart, so a right is for all of them",
            )
        tenant = role.tenant
        templates = self._rules.tenant_templates
        if tenant is not None and not all(is_free_text(each, tenant) for each in templates):
            self._tell(
                "tag-form",
                "wider",
                (),
                f"aws:PrincipalTag/{tenant}",
                "IAM cannot check what the tag is made of",
                "Tag principals with their ids just as these stand in keys.",
            )

    def _report_unique_gaps(self) -> None:
        everything = self._rules.everything
        if everything is not None and not (WRITE | Right.GET).value & ~everything.rights:
            return
        writes = (Right.CREATE | Right.UPDATE | Right.DELETE).value
        entities = sorted(
            name
            for area in self._layout.areas.values()
            for name in area.entities
            if name in self._layout.unique
            and area.name in self._grants
            and self._grants[area.name].rights & writes
        )
        if entities:
            self._tell(
                "unique-values",
                "narrower",
                (),
                join_names(entities),
                "their unique values are kept by items of their own, which IAM cannot allow one "
                "entity's alone of, so a store's writes of them are denied",
                "Let a service with a role of its own write them.",
            )

    def _report_length(self, document: dict[str, Any]) -> None:
        if not document["Statement"]:
            fact = "IAM can say nothing of what the role may do, so the policy allows nothing"
            self._tell("nothing", "same", (), f"role {self._role.name}", fact)
        length = len("".join(json.dumps(document, ensure_ascii=False).split()))
        if length > MAX_CHARACTERS:
            self._tell(
                "length",
                "same",
                (),
                f"role {self._role.name}",
                f"the policy has {length:,} characters, and AWS takes {MAX_CHARACTERS:,}",
                "Split its statements into several policies.",
            )


def _may_be_unique(place: PartitionPatterns) -> bool:
    """Tell whether a pattern may fit the partitions that keep unique values."""
    for glob in place.globs:
        first = glob.pieces[0]
        known = first if isinstance(first, str) else ""
        is_whole = len(glob.pieces) == 1 and isinstance(first, str)
        if not is_whole and (UNIQUE_START.startswith(known) or known.startswith(UNIQUE_START)):
            return True
    return False
