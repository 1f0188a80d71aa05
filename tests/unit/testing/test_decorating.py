"""The decorator: what it can decorate, and that every call has a service of its own."""

from __future__ import annotations

import asyncio
import inspect
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from keyfold.errors import OptionInvalid
from keyfold.testing import Clock, FaultProfile, dynamodb
from tests.unit.testing.tables import CREATE, make_client


def create_table() -> list[str]:
    """Make the table, which fails where it is there already; list what is there."""
    client = make_client()
    client.create_table(**CREATE)
    return client.list_tables()["TableNames"]


def is_active() -> bool:
    from keyfold.testing._botocore import active

    return active.core is not None


def test_every_call_of_a_function_starts_empty() -> None:
    @dynamodb()
    def work(greeting: str, *, name: str) -> str:
        return f"{greeting} {name}: {create_table()}"

    for _ in range(2):
        assert work("Hello", name="Nina") == "Hello Nina: ['Music']"
    assert not is_active()


def test_it_may_stand_without_parentheses() -> None:
    @dynamodb
    def work() -> list[str]:
        return create_table()

    assert work() == work() == ["Music"]


def test_it_takes_options() -> None:
    @dynamodb(clock=Clock(0.0), region="eu-south-2")
    def work() -> tuple[str, float]:
        client = make_client()
        table = client.create_table(**CREATE)["TableDescription"]
        return client.meta.region_name, table["CreationDateTime"].timestamp()

    assert work() == ("eu-south-2", 0.0)


def test_a_decorated_function_keeps_its_name_and_arguments() -> None:
    @dynamodb
    def work(tmp_path: str) -> None:
        """What it says."""

    assert (work.__name__, work.__doc__) == ("work", "What it says.")
    # pytest finds fixtures by these.
    assert list(inspect.signature(work).parameters) == ["tmp_path"]


def test_a_coroutine_is_inside_for_as_long_as_it_runs() -> None:
    @dynamodb
    async def work() -> list[str]:
        await asyncio.sleep(0)
        return create_table()

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(work()) == ["Music"]
    assert not is_active()


def test_a_generator_is_inside_until_it_ends() -> None:
    @dynamodb
    def fixture() -> Iterator[list[str]]:
        yield create_table()
        assert is_active()

    generator = fixture()
    assert not is_active()
    assert next(generator) == ["Music"]
    assert is_active()
    assert list(generator) == []
    assert not is_active()


def test_an_asynchronous_generator_is_inside_until_it_ends() -> None:
    @dynamodb
    async def fixture() -> AsyncIterator[list[str]]:
        yield create_table()
        assert is_active()

    async def use() -> list[list[str]]:
        return [each async for each in fixture()]

    assert asyncio.run(use()) == [["Music"]]
    assert not is_active()


def test_each_test_of_a_class_starts_empty() -> None:
    @dynamodb
    class TestTables:
        names = "test_names"

        def test_one(self) -> list[str]:
            return create_table()

        async def test_another(self) -> list[str]:
            return create_table()

        def helper(self) -> bool:
            return is_active()

    tests = TestTables()
    assert tests.test_one() == asyncio.run(tests.test_another()) == ["Music"]
    assert not tests.helper()


def run(case: type[unittest.TestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_a_test_case_is_inside_from_its_set_up_on() -> None:
    @dynamodb
    class Tables(unittest.TestCase):
        def setUp(self) -> None:
            self.names = create_table()

        def tearDown(self) -> None:
            assert is_active()

        def test_one(self) -> None:
            assert self.names == ["Music"]

        def test_another(self) -> None:
            assert self.names == ["Music"]

    result = run(Tables)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    assert not is_active()


def test_an_asynchronous_test_case_is_too() -> None:
    @dynamodb()
    class Tables(unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self) -> None:
            self.names = create_table()

        async def test_one(self) -> None:
            assert self.names == ["Music"]

    result = run(Tables)
    assert (result.testsRun, result.errors, result.failures) == (1, [], [])


def test_one_may_be_entered_again_and_inside_itself() -> None:
    entered = dynamodb()
    with entered as outer:
        outer.execute("CreateTable", CREATE)
        with entered as inner:
            assert inner.execute("ListTables", {})["TableNames"] == []
        assert outer.execute("ListTables", {})["TableNames"] == ["Music"]
    with entered as again:
        assert again.execute("ListTables", {})["TableNames"] == []


@pytest.mark.parametrize(
    ("option", "value"), [("clock", lambda: 0.0), ("faults", {"throttling": 1}), ("region", "")]
)
def test_an_option_that_does_not_fit_is_refused(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(OptionInvalid, match=f"^{option}: got "), dynamodb(**options):
        pass
    assert not is_active()


def test_hardships_may_be_there_from_the_beginning() -> None:
    faults = FaultProfile(throttling=0.5)
    with dynamodb(faults=faults) as service:
        assert service.faults is faults
