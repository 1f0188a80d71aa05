"""`keyfold serve` in a separate process."""

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
from keyfold.errors import (
    AccessDeniedException,
    InvalidSignatureException,
    ServiceError,
    UnrecognizedClientException,
)
from keyfold.testing import Clock
from keyfold.wire.client import Client, Credentials
from keyfold.wire.server import _process
from keyfold.wire.server._gate import OpenGate
from keyfold.wire.server._process import ProcessSettings
from tests.unit.cli.program import Run
from tests.unit.wire.server.http import CREATE, TABLE, ask, get, put, read_responses


@contextmanager
def serving(
    *arguments: object, folder: Path | None = None
) -> Generator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a server on a free port; yield its process and the JSON it prints when ready."""
    command = [sys.executable, "-m", "keyfold", "serve", "--port", "0", "--json"]
    server = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
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
def test_the_server_runs_until_it_gets_a_signal(tmp_path: Path, number: int) -> None:
    path = tmp_path / "shop.db"
    with serving(path) as (server, ready):
        url = ready["url"]
        assert ready["serving"] == str(path)
        assert ready["environment"]["AWS_ENDPOINT_URL_DYNAMODB"] == url
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
        assert server.stdout.read() == "", "only one line"
    assert line.startswith("Keyfold serves :memory: at http://127.0.0.1:")
    assert "AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:" in line


def test_a_server_without_keys_checks_dates_on_request() -> None:
    for option in ([], ["--check-dates"]):
        with serving("--memory", *option) as (_, ready), Client(ready["url"]) as client:
            assert client.execute("ListTables", {}) == {"TableNames": []}, "signed just now"
            signed_before = ask("ListTables", {}).replace(b"20261115T120000Z", b"20200101T000000Z")
            assert b"X-Amz-Date: 2020" in signed_before
            if option:
                with pytest.raises(AssertionError, match="Signature expired: 20200101T000000Z is"):
                    exchange(ready["url"], signed_before)
            else:
                exchange(ready["url"], signed_before)


def worker_pids(server: subprocess.Popen[str]) -> list[int]:
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    if not children.exists():
        pytest.skip("this system does not list a process's children")
    return [int(pid) for pid in children.read_text().split()]


def test_workers_serve_one_file_together(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with serving(path, "--workers", 2, "--metrics") as (server, ready):
        url = ready["url"]
        exchange(url, ask("CreateTable", CREATE))
        for number in range(40):
            exchange(url, put(str(number)))
            assert exchange(url, get(str(number)))["Item"]
        # A worker that dies is replaced; no acknowledged write is lost.
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


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    with serving(tmp_path / "shop.db", "--workers", 2) as (server, ready):
        pids = worker_pids(server)
        assert len(pids) == 2
        server.kill()
        server.wait()
        # The pipe closes when the last process that holds it has ended.
        assert server.stderr is not None
        server.stderr.read()
        with pytest.raises(ConnectionRefusedError):
            exchange(ready["url"], get("a"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a file or --memory."),
        (["shop.db", "--memory"], "give either a file or --memory."),
        (["--memory", "--workers", 2], "several processes cannot share memory."),
        (["--memory", "--port", 70_000], "port 70000: ports go from 0 to 65535."),
        (["--memory", "--host", "256.0.0.1", "--port", 0], "cannot listen on 256.0.0.1, port 0"),
        (["--memory", "--port", 0, "--durability", "durable"], "durability: got 'durable'."),
        (["absent/shop.db", "--port", 0], "cannot open absent/shop.db"),
        (["absent/shop.db", "--port", 0, "--workers", 2], "cannot open absent/shop.db"),
        (["--memory", "--port", 0, "--tls-cert", "absent.pem"], "--tls-cert: got 'absent.pem'."),
    ],
)
def test_invalid_arguments_are_refused(
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


def test_exports_are_written_to_the_folders_of_buckets(tmp_path: Path) -> None:
    (tmp_path / "data" / "reports").mkdir(parents=True)
    with serving("--memory", "--buckets", tmp_path / "data") as (_, ready):
        url = ready["url"]
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


def test_the_buckets_folder_has_to_exist(run: Run, tmp_path: Path) -> None:
    result = run("serve", "--memory", "--port", "0", "--buckets", str(tmp_path / "absent"))
    assert result.code == 2
    assert "buckets" in result.err


SHOP = """
from __future__ import annotations

from keyfold import READ, Entity, Key, Role, Table, Ulid, part

shop = Table("Things", key=Key("pk"))
shelves = shop.shard("U#{user}#{shelf}", name="shelves")


class ShelfId(Ulid, prefix="S"): ...


class Thing(Entity, table=shop, key=shelves):
    user: str = part()
    shelf: ShelfId = part()


shop.add_role(Role("reader", tenant="user", can={"shelves": READ}))
"""
SHELF = "S#01JZ0000000000000000000000"


def add_key(run: Run, file: Path, *more: str) -> Credentials:
    added = json.loads(run("keys", "add", file, "--json", *more).out)
    return Credentials(added["access_key"], added["secret"], added.get("token"))


def connect(url: str, credentials: Credentials, region: str = "us-east-1") -> Client:
    return Client(url, region=region, credentials=credentials)


def key_of(user: str) -> dict[str, Any]:
    return {"TableName": TABLE, "Key": {"pk": {"S": f"U#{user}#{SHELF}"}}}


@pytest.mark.parametrize("workers", [1, 2])
def test_keys_are_required_and_their_rights_enforced(
    run: Run, tmp_path: Path, workers: int
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    file = tmp_path / "keys.toml"
    admin = add_key(run, file, "--name", "ops", "--admin", "--token")
    ada = add_key(run, file, "--name", "ada", "--role", "reader", "--id", "user=ada")
    arguments = ("shop.db", "--auth", "keys.toml", "--table", "shop:shop", "--workers", workers)
    with serving(*arguments, folder=tmp_path) as (server, ready):
        url = ready["url"]
        assert ready["environment"] == {
            "AWS_ENDPOINT_URL_DYNAMODB": url,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        with connect(url, admin) as client:
            client.execute("CreateTable", CREATE)
            client.execute("PutItem", {"TableName": TABLE, "Item": key_of("ada")["Key"]})
        for _ in range(8):
            # On many connections, so that both workers get requests.
            with connect(url, ada) as client:
                assert client.execute("GetItem", key_of("ada"))["Item"]
                with pytest.raises(AccessDeniedException, match="user/ada is not authorized"):
                    client.execute("GetItem", key_of("bob"))
        with (
            connect(url, ada._replace(secret_key="another")) as client,
            pytest.raises(InvalidSignatureException, match="does not match"),
        ):
            client.execute("GetItem", key_of("ada"))
        with (
            connect(url, ada, "eu-west-1") as client,
            pytest.raises(InvalidSignatureException, match="valid region, not 'eu-west-1'"),
        ):
            client.execute("GetItem", key_of("ada"))
        bob = add_key(run, file, "--name", "bob", "--role", "reader", "--id", "user=bob")
        assert run("keys", "revoke", file, ada.access_key).code == 0
        for _ in range(8):
            with connect(url, bob) as client:
                assert client.execute("GetItem", key_of("bob")) == {}
            with connect(url, ada) as client, pytest.raises(UnrecognizedClientException):
                client.execute("GetItem", key_of("ada"))
        server.terminate()
        assert server.wait() == 0
        assert server.stderr is not None
        assert server.stderr.read() == ""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_policy_applies_to_all_requests(tmp_path: Path, workers: int) -> None:
    statement = {
        "Effect": "Allow",
        "Action": "dynamodb:GetItem",
        "Resource": "*",
        "Condition": {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": "${aws:PrincipalTag/user}"},
            "Null": {"dynamodb:LeadingKeys": "false"},
        },
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    with Engine.open(tmp_path / "shop.db") as engine:
        engine.execute("CreateTable", CREATE)
    arguments = (tmp_path / "shop.db", "--policy", tmp_path / "policy.json", "--id", "user=ada")
    with serving(*arguments, "--workers", workers) as (_, ready):
        assert ready["environment"]["AWS_ACCESS_KEY_ID"] == "local"
        assert exchange(ready["url"], get("ada")) == {}
        with (
            connect(ready["url"], Credentials("any", "key")) as client,
            pytest.raises(AccessDeniedException, match="user/local is not authorized"),
        ):
            client.execute("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": "bob"}}})


@pytest.mark.parametrize("workers", [1, 2])
def test_unusable_keys_are_refused_at_the_start(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP)
    common = ("serve", "shop.db", "--port", 0, "--workers", workers, "--auth", "keys.toml")
    assert "keys.toml: it cannot be read: No such file" in run(*common).err
    add_key(run, tmp_path / "keys.toml", "--name", "x", "--role", "absent")
    outcome = run(*common)
    assert outcome.code == 2
    assert "has role 'absent', but the roles being served are none" in outcome.err
    # Each test imports its own module of this name.
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert "being served are ['reader']" in run(*common, "--table", "shop:shop").err
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    (tmp_path / "keys.toml").chmod(0o644)
    assert "Run `chmod 600 keys.toml`." in run(*common).err
    assert not (tmp_path / "shop.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--auth", "a.toml", "--policy", "b.json"], "the keys of --auth have their own rights"),
        (["--id", "user=ada"], "it is for --policy. Give --policy,"),
        (["--policy", "b.json", "--id", "user"], "'user' is not NAME=VALUE."),
        (["--policy", "b.json"], "b.json: it cannot be read: No such file"),
    ],
)
def test_contradictory_options_are_refused(run: Run, arguments: list[str], message: str) -> None:
    outcome = run("serve", "--memory", "--port", 0, *arguments)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize(
    ("words", "seconds"),
    [([], None), (["--expiry-grace", "30m"], 1_800), (["--expiry-grace=0"], 0)],
)
def test_the_expiry_grace_reaches_the_engine(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], seconds: int | None
) -> None:
    served: list[ProcessSettings] = []

    def remember(settings: ProcessSettings, *_: object, **__: object) -> None:
        served.append(settings)

    monkeypatch.setattr(_process, "run_server", remember)
    assert run("serve", tmp_path / "shop.db", "--port", "0", *words).code == 0
    [settings] = served
    clock = Clock(1_700_000_000)
    grace = 48 * 3_600 if seconds is None else seconds
    with _process.open_engine(settings, clock=clock, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        expiry = {"AttributeName": "ttl", "Enabled": True}
        engine.execute("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": expiry})
        item = {"pk": {"S": "a"}, "ttl": {"N": "1700000000"}}
        engine.execute("PutItem", {"TableName": TABLE, "Item": item})
        clock.advance(grace)
        assert engine.run_upkeep() == 0
        clock.advance(1)
        assert engine.run_upkeep() == 1


@pytest.mark.parametrize(("words", "wording"), [([], "2026"), (["--wording", "2025"], "2025")])
def test_the_wording_reaches_the_engine_and_the_gate(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], wording: str
) -> None:
    served: list[ProcessSettings] = []

    def remember(settings: ProcessSettings, *_: object, **__: object) -> None:
        served.append(settings)

    monkeypatch.setattr(_process, "run_server", remember)
    policy = tmp_path / "policy.json"
    allowed = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}
    policy.write_text(json.dumps({"Version": "2012-10-17", "Statement": [allowed]}))
    policy.chmod(0o600)
    assert run("serve", "--memory", "--port", "0", "--policy", policy, *words).code == 0
    [settings] = served
    request = {"TableName": TABLE, "Key": {"pk": {"S": "a"}}, "UpdateExpression": ""}
    message = "Invalid UpdateExpression: The expression can not be empty;"
    expected = message if wording == "2025" else f"1 validation error detected: {message}"
    with _process.open_engine(settings) as engine:
        with pytest.raises(ServiceError) as refused:
            engine.execute("UpdateItem", request)
        assert refused.value.message == expected
        gate = _process.make_gate(settings, engine.find_key_names, ())
        assert isinstance(gate, OpenGate)
        denial = gate._authorizer.find_denial("UpdateItem", request)
        assert denial is not None
        assert denial.message == expected


def test_an_unknown_wording_is_refused(run: Run, tmp_path: Path) -> None:
    outcome = run("serve", tmp_path / "shop.db", "--wording", "2024")
    assert outcome.code != 0
    assert "wording" in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["soon", "-1h", "200y"])
def test_a_grace_that_is_no_duration_is_refused(run: Run, tmp_path: Path, given: str) -> None:
    outcome = run("serve", tmp_path / "shop.db", f"--expiry-grace={given}")
    assert outcome.code == 2
    assert f"{given!r} is not a duration" in outcome.err
    assert list(tmp_path.iterdir()) == []
