"""What clients do about busy services and lost connections."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import TypeAdapter

from keyfold.service._client_runtime import CallFailed, PatternClient, ResultPage

ANY: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass
class Script:
    """Answers of a service, in order: a status, headers and a body; None closes the connection."""

    answers: list[tuple[int, dict[str, str], Any] | None]
    requests: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    paths: list[str] = field(default_factory=list[str])
    # Whether connections are closed after each answer, without a word.
    hangs_up: bool = False


def problem(status: int, code: str, **headers: str) -> tuple[int, dict[str, str], Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, {"status": status, "code": code, "detail": "No."}


@contextmanager
def answering(script: Script) -> Generator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            script.requests.append({name.lower(): each for name, each in self.headers.items()})
            script.paths.append(self.path)
            self.rfile.read(int(self.headers.get("content-length", 0)))
            answer = script.answers.pop(0)
            if answer is None:
                self.close_connection = True
                return
            status, headers, content = answer
            body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = script.hangs_up

        do_POST = do_GET  # noqa: N815 - the name that the server looks up

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


PAGES: TypeAdapter[ResultPage[Any]] = TypeAdapter(ResultPage[Any])
DONE: tuple[int, dict[str, str], Any] = (200, {}, 1)


def never(seconds: float) -> None:
    pytest.fail(f"the client would wait {seconds} seconds")


def read(client: PatternClient) -> Any:
    return client._read("/a", ANY, {})


def write(client: PatternClient) -> Any:
    return client._write("/a", ANY, {}, None)


def test_a_busy_service_is_asked_again_when_it_says() -> None:
    waits: list[float] = []
    script = Script([problem(429, "rate-limited", retry_after="7"), problem(503, "x"), DONE])
    with answering(script) as url, PatternClient(url, sleep=waits.append) as client:
        assert read(client) == 1
    assert waits[0] == 7
    assert 0.2 <= waits[1] <= 0.6


@pytest.mark.parametrize("first", [problem(503, "unavailable", retry_after="1"), None])
def test_a_write_keeps_its_key_when_it_is_sent_again(first: Any) -> None:
    waits: list[float] = []
    busy = problem(409, "request-in-progress", retry_after="2")
    script = Script([first, busy, DONE, DONE])
    with answering(script) as url, PatternClient(url, sleep=waits.append) as client:
        assert (write(client), write(client)) == (1, 1)
    keys = [each["idempotency-key"] for each in script.requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert waits[1] == 2


def test_it_gives_up() -> None:
    waits: list[float] = []
    script = Script([problem(503, "unavailable") for _ in range(3)])
    with (
        answering(script) as url,
        PatternClient(url, retries=2, sleep=waits.append) as client,
        pytest.raises(CallFailed) as failed,
    ):
        read(client)
    assert (failed.value.status, failed.value.code) == (503, "unavailable")
    assert len(waits) == 2


def test_it_does_not_wait_longer_than_allowed() -> None:
    script = Script([problem(429, "rate-limited", retry_after="3600")])
    with (
        answering(script) as url,
        PatternClient(url, sleep=never) as client,
        pytest.raises(CallFailed),
    ):
        read(client)


@pytest.mark.parametrize(
    "answer", [problem(409, "already-exists"), problem(500, "x"), problem(504, "x")]
)
def test_other_problems_are_not_tried_again(answer: Any) -> None:
    with (
        answering(Script([answer])) as url,
        PatternClient(url, sleep=never) as client,
        pytest.raises(CallFailed),
    ):
        write(client)


def test_without_keys_a_lost_write_is_not_sent_again() -> None:
    script = Script([DONE, None])
    with (
        answering(script) as url,
        PatternClient(url, idempotency_keys=False, sleep=never) as client,
    ):
        assert write(client) == 1
        with pytest.raises(ConnectionError):
            write(client)
    assert not any("idempotency-key" in each for each in script.requests)


def test_a_connection_is_kept_and_replaced_when_the_service_has_closed_it() -> None:
    script = Script([DONE, DONE, DONE], hangs_up=True)
    with answering(script) as url, PatternClient(url, sleep=never) as client:
        assert [read(client), read(client), write(client)] == [1, 1, 1]


def test_callers_are_told_by_tokens_or_keys() -> None:
    tokens = iter(["a", "b"])
    script = Script([DONE, DONE, DONE])
    with answering(script) as url:
        with PatternClient(url, token=lambda: next(tokens)) as client:
            read(client)
            read(client)
        with PatternClient(url, api_key="k") as client:
            read(client)
    assert [each.get("authorization") for each in script.requests] == ["Bearer a", "Bearer b", None]
    assert script.requests[2]["x-api-key"] == "k"


def test_an_answer_of_something_else_is_a_problem_too() -> None:
    with (
        answering(Script([(502, {}, "<html>Bad gateway")])) as url,
        PatternClient(url) as client,
        pytest.raises(CallFailed) as failed,
    ):
        read(client)
    assert (failed.value.status, failed.value.code) == (502, "http-502")
    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


def test_pages_are_asked_for_at_the_clients_own_address() -> None:
    """Whoever answers cannot send a client's credentials elsewhere."""
    first = {"items": [1], "next": "//evil.example/steal?cursor=c&user=ada", "invalid": 0}
    last = {"items": [2], "next": None, "invalid": 0}
    script = Script([(200, {}, first), (200, {}, last)])
    with answering(script) as url, PatternClient(f"{url}/api/") as client:
        found = client._list("/notes", PAGES, {"user": "ada", "tags": ["x", "y"]}, 5, None)
        assert [*found] == [1, 2]
    assert script.paths == ["/api/notes?user=ada&tags=x&tags=y", "/api/notes?cursor=c&user=ada"]
    assert [each["prefer"] for each in script.requests] == ["maxpagesize=5"] * 2


@pytest.mark.parametrize("url", ["api.example", "ftp://api.example", "http://"])
def test_a_url_that_is_not_one_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="the URL of a service is like"):
        PatternClient(url)
