"""Calls of tools: each runs a pattern as its caller, within the caps, and is audited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

from keyfold.analysis import PatternProfile, TableProfile
from keyfold.model import Page, Query, Request, Scan, Table
from keyfold.service._arguments import ArgumentProblem, ArgumentsInvalid, read_arguments
from keyfold.service._callers import Caller
from keyfold.service._database import ServiceDatabase
from keyfold.service._endpoints import CURSOR, PatternEndpoint, make_endpoints
from keyfold.service._problems import describe_error, refuse
from keyfold.service._results import is_nothing, to_json
from keyfold.service._running import LEAST_UNITS, Meter, Metering, Outcome, make_request
from keyfold.service.mcp._audit import AuditEntry
from keyfold.service.mcp._explaining import EXPLAIN, ExplainArguments, explain_pattern
from keyfold.service.mcp._lists import ListAnswer, ListReader, measure_bytes
from keyfold.service.mcp._resources import AgentResource, list_resources
from keyfold.service.mcp._schemas import LIMIT, ToolSchemas, paging_parameters
from keyfold.service.mcp._sessions import AgentSession, AgentSessions
from keyfold.service.mcp._settings import AgentSettings
from keyfold.service.mcp._tool_calls import OwnTool, ToolAnswer, ToolCall, make_own_tool
from keyfold.service.mcp._tools import AgentTool, make_tool, measure_patterns
from keyfold.store import AsyncStore, Handles

_LOG = logging.getLogger("keyfold.service.mcp")

_FAULT = 500
# The principal of a process without --as, which may do what its user may.
_WHOLE = "the whole database"


class AgentService:
    """The access patterns of a table as tools. Callers are given with each call, never by an agent.

    A caller of None has the rights of the process: all of the database.
    """

    def __init__(
        self,
        table: Table,
        database: ServiceDatabase,
        settings: AgentSettings,
        tools: Iterable[OwnTool[Any]] = (),
        *,
        measure: Callable[[Table], TableProfile | None] = measure_patterns,
    ) -> None:
        self.table = table
        self.database = database
        self.settings = settings
        self.endpoints = make_endpoints(table)
        caps = settings.caps
        self._schemas = ToolSchemas(self.endpoints.values(), caps.items)
        self._sessions = AgentSessions(
            caps.session_units, settings.idle_seconds, settings.monotonic
        )
        self._measure = measure
        self._profile: asyncio.Future[TableProfile | None] | None = None
        # The resources of end users, and those of others.
        self._resources: dict[bool, dict[str, AgentResource]] = {}
        explain = make_own_tool(EXPLAIN, "Explain a tool", ExplainArguments, self._explain)
        self._own = {each.tool.name: each for each in (explain, *tools)}

    async def open(self, caller: Caller | None) -> AsyncStore:
        """Return the store of a caller; raises PrincipalInvalid."""
        if caller is None:
            return await self.database.open()
        return await self.database.open_as(caller)

    async def profile(self) -> TableProfile | None:
        """Return what patterns consume; it is measured once, beside the event loop."""
        if self._profile is None:
            self._profile = asyncio.ensure_future(asyncio.to_thread(self._measure, self.table))
        return await asyncio.shield(self._profile)

    @property
    def listed(self) -> list[PatternEndpoint]:
        """The patterns that are tools: those that write only if writes are allowed."""
        every = self.endpoints.values()
        return [each for each in every if self.settings.may_write or not each.writes]

    async def list_tools(self, caller: Caller | None) -> list[AgentTool]:
        """Return the tools of a caller: those of patterns, and Keyfold's own."""
        store, profile = await self.open(caller), await self.profile()
        shows_keys = store.handles is None
        patterns = [
            make_tool(each, self._schemas, find_profile(profile, each), has_examples=shows_keys)
            for each in self.listed
        ]
        return [*patterns, *(each.tool for each in self._own.values())]

    async def list_resources(self, caller: Caller | None) -> Mapping[str, AgentResource]:
        """Return what a caller can read about the table, by URI."""
        store, profile = await self.open(caller), await self.profile()
        shows_keys = store.handles is None
        if shows_keys not in self._resources:
            self._resources[shows_keys] = list_resources(
                profile, self.table, self.listed, shows_keys=shows_keys
            )
        return self._resources[shows_keys]

    async def read_resource(self, caller: Caller | None, uri: str) -> tuple[AgentResource, str]:
        """Return a resource and its text; raises a problem if there is none, or it cannot be audited."""
        entry = self._describe(caller, f"read {uri}", {})
        resource = (await self.list_resources(caller)).get(uri)
        if resource is None:
            self._audit_end(entry, None, "resource-unknown")
            raise refuse(404, "resource-unknown", "There is no such resource.")
        text = await asyncio.to_thread(resource.write)
        self._audit_end(entry, None, "ok")
        return resource, text

    async def call(
        self, caller: Caller | None, name: str, arguments: Mapping[str, Any]
    ) -> ToolAnswer:
        """Run a tool, and return its answer; errors are answers, too."""
        entry = self._describe(caller, name, arguments)
        call: ToolCall | None = None
        status = "ok"
        try:
            principal = _WHOLE if caller is None else caller.principal
            if self.settings.limits is not None:
                self.settings.limits.check(principal)
            async with self._sessions.turn(principal) as session:
                call = await self._begin(caller, session)
                try:
                    document = await self._run(call, name, arguments, entry)
                    answer = ToolAnswer(document)
                finally:
                    self._charge(principal, session, call.meter)
        except Exception as error:  # noqa: BLE001 - every error is an answer
            answer = self._describe_error(error, name, call)
            status = answer.document["code"]
        except BaseException:
            self._audit_end(entry, call, "cancelled")
            raise
        try:
            self._audit_end(entry, call, status)
        except Exception as error:  # noqa: BLE001 - no answer without its line in the log
            answer = self._describe_error(error, name, None)
            if call is not None and call.meter.write_units:
                fact = "It was carried out, but its end could not be written to the audit log."
                return ToolAnswer({**answer.document, "detail": fact}, is_error=True)
        return answer

    async def _begin(self, caller: Caller | None, session: AgentSession) -> ToolCall:
        store = await self.open(caller)
        caps = self.settings.caps
        most = min(caps.call_units, self._sessions.left(session))
        return ToolCall(store, store.handles, Meter(), caps.answer_bytes, most)

    async def _run(
        self, call: ToolCall, name: str, arguments: Mapping[str, Any], entry: AuditEntry | None
    ) -> dict[str, Any]:
        own = self._own.get(name)
        if own is None:
            return await self._run_pattern(call, self._find(name), arguments, entry)
        document = await own.run(call, arguments)
        size = measure_bytes(document)
        if size > call.most_bytes:
            raise _too_large(size, call)
        return document

    def _find(self, name: str) -> PatternEndpoint:
        endpoint = self.endpoints.get(name)
        if endpoint is None:
            raise refuse(404, "tool-unknown", "There is no such tool.")
        if endpoint.writes and not self.settings.may_write:
            detail = "This tool writes, and the server only reads. Its operator can allow writes."
            raise refuse(403, "read-only", detail)
        return endpoint

    async def _explain(self, call: ToolCall, given: ExplainArguments) -> dict[str, Any]:
        endpoint = self._find(given.pattern)
        shows_keys = call.handles is None
        measured = find_profile(await self.profile(), endpoint)
        document = explain_pattern(endpoint.pattern, measured, shows_keys=shows_keys)
        if given.arguments is None:
            return document
        request = self._make_request(endpoint, given.arguments, call.handles)
        planned = call.store.plan(request)
        known = [
            {"operation": each.operation, **({"request": each.request} if shows_keys else {})}
            for each in planned
        ]
        return {**document, "allowed": True, "first_calls": known}

    async def _run_pattern(
        self,
        call: ToolCall,
        endpoint: PatternEndpoint,
        arguments: Mapping[str, Any],
        entry: AuditEntry | None,
    ) -> dict[str, Any]:
        request = self._make_request(endpoint, arguments, call.handles)
        if endpoint.writes:
            if entry is not None and self.settings.audit is not None:
                self.settings.audit.begin(entry)
            # A write is not stopped halfway, whatever it consumes.
            with Metering() as call.meter:
                outcome = await self._finish(call, request)
            return self._show_result(call, endpoint, outcome)
        if endpoint.is_page and isinstance(request, Query | Scan):
            with Metering() as call.meter:
                found = await ListReader(
                    call.store,
                    partial(_show_items, endpoint, call.handles),
                    call.meter,
                    call.most_bytes,
                    call.most_units,
                ).read(cast("Query[Any] | Scan[Any]", request))
            return self._show_list(call, found)
        with Metering(call.most_units) as call.meter:
            outcome = await self._finish(call, request)
        return self._show_result(call, endpoint, outcome)

    def _make_request(
        self, endpoint: PatternEndpoint, arguments: Mapping[str, Any], handles: Handles | None
    ) -> Request[Any]:
        given, limit, cursor = split_paging(endpoint, arguments)
        values = read_arguments(endpoint, given, handles)
        pages = self.settings.caps.pages
        return make_request(endpoint, values, limit=limit, cursor=cursor, pages=pages)

    @staticmethod
    async def _finish(call: ToolCall, request: Any) -> Outcome:
        """Run a request whose units the call's meter counts."""
        value: Any = await call.store.run(request)
        cursor = cast("Page[Any]", value).cursor if isinstance(value, Page) else None
        meter = call.meter
        return Outcome(value, cursor, 0, meter.read_units, meter.write_units)

    def _show_list(self, call: ToolCall, found: ListAnswer) -> dict[str, Any]:
        call.items = len(found.items)
        notes: list[str] = []
        caps = self.settings.caps
        if found.omitted_bytes:
            notes.append(
                f"An item of {found.omitted_bytes:,} bytes is left out: an answer has up to "
                f"{caps.answer_bytes:,}."
            )
        elif found.stopped_by == "bytes":
            notes.append(f"An answer has up to {caps.answer_bytes:,} bytes.")
        elif found.stopped_by == "units":
            notes.append(f"A call uses up to {call.most_units:g} capacity units.")
        elif found.stopped_by == "reads":
            notes.append("Only some of the items were searched so far.")
        if found.invalid:
            notes.append(f"{found.invalid} stored items do not fit their declaration.")
        if found.cursor is not None:
            notes.append("There may be more: call again with the same arguments and this cursor.")
        document: dict[str, Any] = {"items": found.items}
        if found.cursor is not None:
            document[CURSOR] = found.cursor
        return _finish_document(document, notes, call.meter)

    def _show_result(
        self, call: ToolCall, endpoint: PatternEndpoint, outcome: Outcome
    ) -> dict[str, Any]:
        shown = to_json(endpoint, outcome, call.handles)
        notes: list[str] = []
        call.items = len(cast("list[Any]", shown)) if isinstance(shown, list) else shown is not None
        if is_nothing(outcome.value) and not endpoint.is_page:
            notes.append("Done." if endpoint.writes else "There is no such item.")
        size = measure_bytes(shown)
        if size > call.most_bytes:
            if not endpoint.writes:
                raise _too_large(size, call)
            # It is not an error: what was asked for is done.
            fact = f"It was carried out. Its result of {size:,} bytes is too large for an answer."
            return _finish_document({}, [fact], call.meter)
        document: dict[str, Any] = {"items" if endpoint.is_page else "result": shown}
        if outcome.cursor is not None and endpoint.cursor is not None:
            document[CURSOR] = outcome.cursor
            notes.append(f"There may be more: call again with it as {endpoint.cursor}.")
        return _finish_document(document, notes, call.meter)

    def _charge(self, principal: str, session: AgentSession, meter: Meter) -> None:
        # A request that fails may consume units that the database does not tell.
        units = max(meter.units, LEAST_UNITS)
        session.units += units
        if self.settings.limits is not None:
            self.settings.limits.charge(principal, units)

    def _describe(
        self, caller: Caller | None, name: str, arguments: Mapping[str, Any]
    ) -> AuditEntry | None:
        if self.settings.audit is None:
            return None
        return self.settings.audit.describe(
            principal=_WHOLE if caller is None else caller.principal,
            caller="" if caller is None else caller.name,
            tool=name,
            arguments=arguments,
            known=self._known_parameters(name),
        )

    def _known_parameters(self, name: str) -> tuple[str, ...]:
        if name in self._own:
            return tuple(self._own[name].arguments.model_fields)
        endpoint = self.endpoints.get(name)
        if endpoint is None:
            return ()
        return (*(each.name for each in endpoint.parameters), *paging_parameters(endpoint))

    def _audit_end(self, entry: AuditEntry | None, call: ToolCall | None, status: str) -> None:
        if entry is None or self.settings.audit is None:
            return
        items, units = (0, 0.0) if call is None else (call.items, call.meter.units)
        self.settings.audit.end(entry, status=status, items=items, units=units)

    @staticmethod
    def _describe_error(error: Exception, name: str, call: ToolCall | None) -> ToolAnswer:
        problem = describe_error(error, None if call is None else call.handles)
        if problem.status >= _FAULT:
            _LOG.error("tool %s failed", name[:100], exc_info=error)
        document = {"code": problem.code, "detail": problem.detail, **problem.members}
        return ToolAnswer(document, is_error=True)


def find_profile(profile: TableProfile | None, endpoint: PatternEndpoint) -> PatternProfile | None:
    """Return what a pattern consumes; None if that is not known."""
    return None if profile is None else profile.patterns.get(endpoint.pattern.name)


def _too_large(size: int, call: ToolCall) -> Exception:
    fact = f"The result has {size:,} bytes; an answer has up to {call.most_bytes:,}. Ask for less."
    return refuse(413, "answer-too-large", fact)


def split_paging(
    endpoint: PatternEndpoint, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], int | None, str | None]:
    """Return the pattern's arguments, and `limit` and `cursor` of a list; raises ArgumentsInvalid."""
    given = dict(arguments)
    own = paging_parameters(endpoint)
    limit = given.pop(LIMIT, None) if LIMIT in own else None
    cursor = given.pop(CURSOR, None) if CURSOR in own else None
    problems: list[ArgumentProblem] = []
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        problems.append(ArgumentProblem(LIMIT, "Input should be an integer of at least 1"))
    if cursor is not None and not isinstance(cursor, str):
        problems.append(ArgumentProblem(CURSOR, "Input should be a valid string"))
    if problems:
        raise ArgumentsInvalid(problems)
    return given, limit, cursor


def _show_items(endpoint: PatternEndpoint, handles: Handles | None, page: Page[Any]) -> list[Any]:
    shown: list[Any] = to_json(endpoint, Outcome(page, None, 0, 0.0, 0.0), handles)
    return shown


def _finish_document(document: dict[str, Any], notes: list[str], meter: Meter) -> dict[str, Any]:
    if notes:
        document["note"] = " ".join(notes)
    return {**document, "units": meter.units}
