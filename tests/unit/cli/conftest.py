"""How the tests of the command line run it."""

from __future__ import annotations

import pytest

from keyfold.cli import main
from tests.unit.cli.program import Outcome, Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `keyfold` in this process."""

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exited:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Outcome(exited.value.code, printed.out, printed.err)

    return run
