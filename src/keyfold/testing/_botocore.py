"""Replacements of methods of botocore's and aiobotocore's clients, which send nothing.

The replacements call the originals for every other AWS service, and for DynamoDB while no service
is active.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from inspect import signature
from typing import Any

import orjson

from keyfold.testing._active import Method, Replaceable, active
from keyfold.testing._answers import answer
from keyfold.testing._gc import gc_paused

SERVICES = frozenset({"dynamodb", "dynamodbstreams"})

# The position of the access key among the arguments of create_client after the region.
_KEY_POSITION = 5


def find_methods() -> list[Replaceable]:
    """Return the methods to replace, each with the function that makes its replacement.

    Only modules that are already loaded can have clients. aiobotocore may be loaded later, but
    its clients need a session first, and `_recheck` patches again when one is made.
    """
    methods: list[Replaceable] = []
    try:
        client = import_module("botocore.client").BaseClient
    except ImportError:
        # Without botocore there are no clients to redirect; the service can be used directly.
        return methods
    session = import_module("botocore.session").Session
    loaders = import_module("botocore.loaders")
    methods += [
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
        methods += [
            (client, "_make_request", _answer_requests_async),
            (client, "_resolve_endpoint_ruleset", _skip_endpoints),
            (client, "_convert_to_request_dict", _skip_user_agents),
            (session, "create_client", _fill_in_settings),
        ]
    # Some are only optimizations, and other versions of botocore may lack their methods.
    return [(owner, name, make) for owner, name, make in methods if name in vars(owner)]


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
        await core.wait_async()
        return answer(core, operation_model, request_dict["body"])

    return _make_request


class _WithoutRules:
    """A proxy for a client, without its endpoint rules."""

    _ruleset_resolver = None

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def _skip_endpoints(original: Method) -> Method:
    """Skip resolving the endpoint of a request that is not sent; it takes a fifth of a call."""

    def _resolve_endpoint_ruleset(self: Any, *arguments: Any, **options: Any) -> Any:
        if active.core is None or self.meta.service_model.service_name not in SERVICES:
            return original(self, *arguments, **options)
        # What it returns differs between versions, but all of them handle clients without rules.
        return original(_WithoutRules(self), *arguments, **options)

    return _resolve_endpoint_ruleset


def _skip_user_agents(original: Method) -> Method:
    """Skip building the User-Agent header; it takes a third of a call."""
    if "set_user_agent_header" not in signature(original).parameters:
        return original

    def _convert_to_request_dict(self: Any, *arguments: Any, **options: Any) -> Any:
        if active.core is not None and self.meta.service_model.service_name in SERVICES:
            options["set_user_agent_header"] = False
        return original(self, *arguments, **options)

    return _convert_to_request_dict


def _fill_in_settings(original: Method) -> Method:
    """Give new clients a region and credentials if they have none.

    Otherwise botocore would refuse to create them, or look for credentials on the network.
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
            if len(rest) < _KEY_POSITION and not _has_credentials(self, options):
                options |= {"aws_access_key_id": "keyfold", "aws_secret_access_key": "keyfold"}
            with gc_paused(), _making_client():
                return original(self, service_name, region_name, *rest, **options)
        return original(self, service_name, region_name, *rest, **options)

    return create_client


def _has_credentials(session: Any, options: dict[str, Any]) -> bool:
    """Return whether there are credentials that need no other process and no network."""
    return bool(
        options.get("aws_access_key_id")
        or options.get("aws_secret_access_key")
        or getattr(session, "_credentials", None)
        or os.environ.get("AWS_ACCESS_KEY_ID")
        or session.get_scoped_config().get("aws_access_key_id")
    )


def _load_fast(original: Method) -> Method:
    """Load botocore's data files with orjson, in a third of the time; every new session does."""

    def _load_file(self: Any, full_path: str, open_method: Callable[..., Any]) -> Any:
        if active.core is not None:
            with suppress(OSError, orjson.JSONDecodeError), open_method(full_path, "rb") as file:
                return orjson.loads(file.read())
        return original(self, full_path, open_method)

    return _load_file


class _Making(threading.local):
    """Whether the current thread is creating a client for DynamoDB."""

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
    """Skip listing the folders of four hundred services while creating a client.

    botocore does so twice for each session's first client, only to check that it knows the
    service; missing files would show anyway when they are loaded.
    """

    def list_available_services(self: Any, type_name: str) -> Any:
        return sorted(SERVICES) if _making.is_ours else original(self, type_name)

    return list_available_services


def _recheck(original: Method) -> Method:
    """Patch again when a session is created, in case aiobotocore was loaded since."""

    def __init__(self: Any, *arguments: Any, **options: Any) -> None:  # noqa: N807 - replaces __init__
        original(self, *arguments, **options)
        if active.core is not None:
            active.patch()

    return __init__
