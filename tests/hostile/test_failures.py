"""What clients learn from errors of the server itself: a reference, and nothing of the machine."""

from __future__ import annotations

import re
from typing import Any

import pytest

from keyfold.errors import (
    EngineClosed,
    FileBusy,
    FileDamaged,
    FileFailed,
    FileReplaced,
    FileUnreachable,
    KeyfoldError,
)
from tests.unit.wire.server.http import Wire, get, put

PATH = "/home/ada/secret/shop.db"
SECRET = "what is stored"


class Failing:
    """A service that raises an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        FileFailed(PATH, SECRET),
        FileDamaged(PATH, SECRET),
        FileUnreachable(PATH, SECRET),
        EngineClosed(PATH),
        OSError(2, SECRET, PATH),
        ZeroDivisionError(PATH, SECRET),
        KeyfoldError(PATH, SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("sent", [get("a"), put("a")], ids=["get", "put"])
def test_a_500_has_a_reference_and_no_path(
    error: Exception, sent: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    wire = Wire(Failing(error))
    (response,) = wire.exchange(sent)
    wire.close()
    assert response.status == 500
    text = response.body.decode()
    assert "shop.db" not in text
    assert SECRET not in text
    found = re.search(r"\(reference ([0-9a-f]{12})\)", response.json["message"])
    assert found is not None
    shown = capsys.readouterr().err
    assert f"failed (reference {found[1]})" in shown.replace(" unexpectedly", "")
    assert "shop.db" in shown


@pytest.mark.parametrize("error", [FileBusy(PATH, SECRET), FileReplaced(PATH, SECRET)])
def test_a_503_names_no_path(error: Exception) -> None:
    wire = Wire(Failing(error))
    (response,) = wire.exchange(put("a"))
    wire.close()
    assert response.status == 503
    assert "shop.db" not in response.body.decode()
    assert SECRET not in response.body.decode()
