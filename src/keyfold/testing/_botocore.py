"""The places where botocore's clients are led to an engine instead of the network.

Methods of botocore's and aiobotocore's own classes are replaced, so that clients that exist
already are led there too. All of them do what they always did for every other service, and for
DynamoDB while no service is active.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

import orjson

from keyfold.testing._answers import answer
from keyfold.testing._collections import without_collections
from keyfold.testing._core import Core

Method = Callable[..., Any]

SERVICES = frozenset({"dynamodb", "dynamodbstreams"})

# Where a client's keys stand among the arguments of create_client.
_KEY_POSITION = 5


class _Active:
    """The services that are active, and what leads clients to the innermost."""

    def __init__(self) -> None:
        self.core: Core | None = None
        self._cores: list[Core] = []
        self._patches: list[_Patch] = []
        self._lock = threading.RLock()

    def enter(self, core: Core) -> None:
        """Lead clients to `core` until it leaves, or another enters."""
        with self._lock:
            self.patch()
            self._cores.append(core)
            self.core = core

    def leave(self, core: Core) -> None:
        """Lead clients to the one before again; there may be none."""
        with self._lock:
            self._cores.remove(core)
            self.core = self._cores[-1] if self._cores else None
            if self.core is None:
                for patch in reversed(self._patches):
                    patch.remove()
                self._patches.clear()

    def patch(self) -> None:
        """Replace the methods of what is loaded by now, where that is not done yet."""
        with self._lock:
            done = {(patch.owner, patch.name) for patch in self._patches}
            for owner, name, make in _find_places():
                if (owner, name) not in done:
                    self._patches.append(_Patch.apply(owner, name, make))


class _Patch(NamedTuple):
    """A method that was replaced."""

    owner: type
    name: str
    original: Method
    replacement: Method

    @classmethod
    def apply(cls, owner: type, name: str, make: Callable[[Method], Method]) -> _Patch:
        original = vars(owner)[name]
        replacement = make(original)
        setattr(owner, name, replacement)
        return cls(owner, name, original, replacement)

    def remove(self) -> None:
        # Whoever has replaced it after us calls ours, which calls the original by then.
        if vars(self.owner)[self.name] is self.replacement:
            setattr(self.owner, self.name, self.original)


active = _Active()


def _find_places() -> list[tuple[type, str, Callable[[Method], Method]]]:
    """List the methods to replace, and what makes their replacements.

    Only what is loaded already can have clients. Of aiobotocore nobody can make one before a
    session is made, which is where `_look_again` looks again.
    """
    places: list[tuple[type, str, Callable[[Method], Method]]] = []
    try:
        client = import_module("botocore.client").BaseClient
    except ImportError:
        # Without botocore there are no clients: the service itself can still be used.
        return places
    session = import_module("botocore.session").Session
    loaders = import_module("botocore.loaders")
    places += [
        (client, "_make_request", _answer_requests),
        (client, "_resolve_endpoint_ruleset", _skip_endpoints),
        (client, "_convert_to_request_dict", _skip_user_agents),
        (session, "create_client", _fill_in_settings),
        (session, "__init__", _recheck),
        (loaders.JSONFileLoader, "_load_file", _load_fast),
        (loaders.Loader, "list_available_services", _list_fast),
    ]
    if "aiobotocore.client" in sys.modules and "aiobotocore.session" in sys.modules:
        client = sys.modules["aiobotocore.client"].AioBaseClient
        session = sys.modules["aiobotocore.session"].AioSession
        places += [
            (client, "_make_request", _answer_requests_async),
            (client, "_resolve_endpoint_ruleset", _skip_endpoints),
            (client, "_convert_to_request_dict", _skip_user_agents),
            (session, "create_client", _fill_in_settings),
        ]
    # Some are only shortcuts, which another version of botocore may do without.
    return [(owner, name, make) for owner, name, make in places if name in vars(owner)]


def _answer_requests(original: Method) -> Method:
    def _make_request(
        self: Any, operation_model: Any, request_dict: dict[str, Any], request_context: Any
    ) -> Any:
        core = active.core
        if core is None or self.meta.service_model.service_name not in SERVICES:
            return original(self, operation_model, request_dict, request_context)
        core.wait()
        return answer(core, operation_model, request_dict["body"])

    return _make_request


def _answer_requests_async(original: Method) -> Method:
    async def _make_request(
        self: Any, operation_model: Any, request_dict: dict[str, Any], request_context: Any
    ) -> Any:
        core = active.core
        if core is None or self.meta.service_model.service_name not in SERVICES:
            return await original(self, operation_model, request_dict, request_context)
        delay = core.injector.draw_delay()
        if delay:
            # Here, since it takes long to load; who has such a client has loaded it.
            import asyncio  # noqa: PLC0415

            await asyncio.sleep(delay)
        return answer(core, operation_model, request_dict["body"])

    return _make_request


class _WithoutRules:
    """A client, but for the rules that its address is worked out by."""

    _ruleset_resolver = None

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def _skip_endpoints(original: Method) -> Method:
    """Do not work out the address of a request that is not sent; it takes a fifth of a call."""

    def _resolve_endpoint_ruleset(self: Any, *arguments: Any, **options: Any) -> Any:
        if active.core is None or self.meta.service_model.service_name not in SERVICES:
            return original(self, *arguments, **options)
        # The form of the answer differs between versions; they all know clients without rules.
        return original(_WithoutRules(self), *arguments, **options)

    return _resolve_endpoint_ruleset


def _skip_user_agents(original: Method) -> Method:
    """Do not put together the name of the client either; it takes a third of a call."""
    if "set_user_agent_header" not in signature(original).parameters:
        return original

    def _convert_to_request_dict(self: Any, *arguments: Any, **options: Any) -> Any:
        if active.core is not None and self.meta.service_model.service_name in SERVICES:
            options["set_user_agent_header"] = False
        return original(self, *arguments, **options)

    return _convert_to_request_dict


def _fill_in_settings(original: Method) -> Method:
    """Give new clients the region and the keys that they lack.

    Otherwise botocore would refuse to make one, or ask the network for keys.
    """

    def create_client(
        self: Any, service_name: str, region_name: str | None = None, *rest: Any, **options: Any
    ) -> Any:
        core = active.core
        if core is not None and service_name in SERVICES:
            config = options.get("config")
            if (
                region_name is None
                and getattr(config, "region_name", None) is None
                and self.get_config_variable("region") is None
            ):
                region_name = core.region
            if len(rest) < _KEY_POSITION and not _has_keys(self, options):
                options |= {"aws_access_key_id": "keyfold", "aws_secret_access_key": "keyfold"}
            with without_collections(), _making_client():
                return original(self, service_name, region_name, *rest, **options)
        return original(self, service_name, region_name, *rest, **options)

    return create_client


def _has_keys(session: Any, options: dict[str, Any]) -> bool:
    """Tell whether there are keys that are known without asking another process or the network."""
    return bool(
        options.get("aws_access_key_id")
        or options.get("aws_secret_access_key")
        or getattr(session, "_credentials", None)
        or os.environ.get("AWS_ACCESS_KEY_ID")
        or session.get_scoped_config().get("aws_access_key_id")
    )


def _load_fast(original: Method) -> Method:
    """Read botocore's data files in a third of the time, which every new session does."""

    def _load_file(self: Any, full_path: str, open_method: Callable[..., Any]) -> Any:
        if active.core is not None:
            with suppress(OSError, orjson.JSONDecodeError), open_method(full_path, "rb") as file:
                return orjson.loads(file.read())
        return original(self, full_path, open_method)

    return _load_file


class _Making(threading.local):
    """Whether this thread is making a client of ours."""

    is_ours = False


_making = _Making()


@contextmanager
def _making_client() -> Generator[None]:
    before, _making.is_ours = _making.is_ours, True
    try:
        yield
    finally:
        _making.is_ours = before


def _list_fast(original: Method) -> Method:
    """Do not look through the folders of four hundred services for the one that is wanted.

    botocore does so twice for each session's first client, only to see whether it knows the
    service; whether its files are there shows when they are loaded.
    """

    def list_available_services(self: Any, type_name: str) -> Any:
        return sorted(SERVICES) if _making.is_ours else original(self, type_name)

    return list_available_services


def _recheck(original: Method) -> Method:
    def __init__(self: Any, *arguments: Any, **options: Any) -> None:  # noqa: N807 - as it is replaced
        original(self, *arguments, **options)
        if active.core is not None:
            active.patch()

    return __init__
