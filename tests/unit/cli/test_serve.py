"""`keyfold serve`, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from tests.unit.cli.program import Run
from tests.unit.wire.server.http import CREATE, TABLE, ask, get, put, read_responses


@contextmanager
def serving(*arguments: object) -> Generator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a server on a free port; give its process and what it says when it is ready."""
    command = [sys.executable, "-m", "keyfold", "serve", "--port", "0", "--json"]
    server = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line, server.communicate()[1]
        yield server, json.loads(line)
    finally:
        server.kill()
        server.communicate()


def exchange(url: str, sent: bytes) -> Any:
    host, _, port = url.partition("://")[2].rpartition(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: client.recv(65_536), b""))
    (response,) = read_responses(received)
    assert response.status == 200, response
    return response.json


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_a_file_until_it_is_told_to_stop(tmp_path: Path, number: int) -> None:
    path = tmp_path / "shop.db"
    with serving(path) as (server, told):
        url = told["url"]
        assert told["serving"] == str(path)
        assert told["environment"]["AWS_ENDPOINT_URL_DYNAMODB"] == url
        exchange(url, ask("CreateTable", CREATE))
        exchange(url, put("a"))
        server.send_signal(number)
        out, err = server.communicate()
        assert (server.returncode, out, err) == (0, "", "")
    with Engine.open(path) as engine:
        assert engine.execute("Scan", {"TableName": TABLE})["Count"] == 1
        assert engine.verify() == []


def test_the_ready_line_names_the_url_and_the_variables() -> None:
    command = [sys.executable, "-m", "keyfold", "serve", "--memory", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        server.terminate()
        assert server.wait() == 0
        assert server.stdout.read() == "", "one line, and no more"
    assert line.startswith("Keyfold serves :memory: at http://127.0.0.1:")
    assert "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:" in line


def worker_pids(server: subprocess.Popen[str]) -> list[int]:
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    if not children.exists():
        pytest.skip("this system does not list a process's children")
    return [int(pid) for pid in children.read_text().split()]


def test_workers_serve_one_file_together(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with serving(path, "--workers", 2, "--metrics") as (server, told):
        url = told["url"]
        exchange(url, ask("CreateTable", CREATE))
        for number in range(40):
            exchange(url, put(str(number)))
            assert exchange(url, get(str(number)))["Item"]
        # One that dies is replaced; nothing that was answered is lost.
        first, *_ = worker_pids(server)
        os.kill(first, signal.SIGKILL)
        assert server.stderr is not None
        assert "ended; starting another" in server.stderr.readline()
        assert exchange(url, ask("Scan", {"TableName": TABLE}))["Count"] == 40
        with urllib.request.urlopen(f"{url}/metrics") as scraped:
            assert b"keyfold_calls_total" in scraped.read()
        server.terminate()
        assert server.wait() == 0
    with Engine.open(path) as engine:
        assert engine.verify() == []


def test_workers_end_with_the_process_that_minds_them(tmp_path: Path) -> None:
    with serving(tmp_path / "shop.db", "--workers", 2) as (server, told):
        pids = worker_pids(server)
        assert len(pids) == 2
        server.kill()
        server.wait()
        # The last to hold the pipe closes it by ending.
        assert server.stderr is not None
        server.stderr.read()
        with pytest.raises(ConnectionRefusedError):
            exchange(told["url"], get("a"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a file, or give --memory, and not both."),
        (["shop.db", "--memory"], "name a file, or give --memory, and not both."),
        (["--memory", "--workers", 2], "several processes cannot share memory."),
        (["--memory", "--port", 70_000], "port 70000: ports go from 0 to 65535."),
        (["--memory", "--host", "256.0.0.1", "--port", 0], "cannot listen on 256.0.0.1, port 0"),
        (["--memory", "--port", 0, "--durability", "durable"], "durability: got 'durable'."),
        (["absent/shop.db", "--port", 0], "cannot open absent/shop.db"),
        (["absent/shop.db", "--port", 0, "--workers", 2], "cannot open absent/shop.db"),
        (["--memory", "--port", 0, "--tls-cert", "absent.pem"], "--tls-cert: got 'absent.pem'."),
    ],
)
def test_what_cannot_be_served_is_refused(
    run: Run,
    arguments: list[object],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("serve", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_it_exports_to_the_folders_of_buckets(tmp_path: Path) -> None:
    (tmp_path / "data" / "reports").mkdir(parents=True)
    with serving("--memory", "--buckets", tmp_path / "data") as (_, told):
        url = told["url"]
        exchange(url, ask("CreateTable", CREATE))
        recovery = {"PointInTimeRecoveryEnabled": True}
        exchange(
            url,
            ask(
                "UpdateContinuousBackups",
                {"TableName": TABLE, "PointInTimeRecoverySpecification": recovery},
            ),
        )
        arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
        exchange(url, ask("ExportTableToPointInTime", {"TableArn": arn, "S3Bucket": "reports"}))
    assert len(list((tmp_path / "data" / "reports").rglob("manifest-summary.json"))) == 1


def test_buckets_have_to_be_there(run: Run, tmp_path: Path) -> None:
    result = run("serve", "--memory", "--port", "0", "--buckets", str(tmp_path / "absent"))
    assert result.code == 2
    assert "buckets" in result.err
