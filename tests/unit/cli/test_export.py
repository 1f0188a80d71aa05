from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from keyfold.policy.iam import parse_policy
from tests.unit.cli.program import Run

MODULE = """
from keyfold import ALL, READ, WRITE, Entity, Key, Right, Role, Table, part

shop = Table("Shop", key=Key("pk", "sk"))
carts = shop.shard("U#{user}#C", name="carts")
orders = shop.shard("U#{user}#O", name="orders")


class Cart(Entity, table=shop, key=(carts, "{number:03}")):
    user: str = part()
    number: int = part()


class Order(Entity, table=shop, key=(orders, "{number:03}")):
    user: str = part()
    number: int = part()


shop.add_role(Role("customer", tenant="user", can={"carts": READ | WRITE, "orders": READ}))
shop.add_role(Role("packer", can={"orders": READ | Right.DELETE}))
shop.add_role(Role("nobody", can={}))

logs = Table("Logs", key=Key("pk"))


class Log(Entity, table=logs, key="L#{number:03}"):
    number: int = part()


logs.add_role(Role("packer", can={"Log": ALL}))
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "policed", raising=False)
    Path("policed.py").write_text(MODULE, "utf-8")
    Path("pyproject.toml").write_text(
        '[tool.keyfold]\ntables = ["policed:shop", "policed:logs"]\n', "utf-8"
    )


def test_only_the_policy_is_printed_to_stdout(run: Run) -> None:
    outcome = run("export", "iam", "--role", "customer", "--region", "eu-west-1")
    assert (outcome.code, outcome.err) == (0, "")
    policy = json.loads(outcome.out)
    assert policy["Version"] == "2012-10-17"
    assert [each["Sid"] for each in policy["Statement"]] == ["CartsOrders", "Carts"]
    assert policy["Statement"][0]["Resource"] == ["arn:aws:dynamodb:eu-west-1:*:table/Shop"]
    assert len(parse_policy(outcome.out).statements) == 2


def test_what_iam_cannot_express_is_reported_separately(run: Run) -> None:
    outcome = run("export", "iam", "--table", "policed:shop", "--role", "packer")
    assert outcome.code == 0
    json.loads(outcome.out)
    assert outcome.err == (
        "The policy denies what the role allows:\n"
        "  orders: a batch may put and delete, and IAM cannot distinguish the two, so batch writes "
        "are left out. [batch-writes]\n"
        "    Write items one by one, or in transactions.\n"
    )


def test_a_role_of_several_tables_has_one_policy(run: Run) -> None:
    outcome = run("export", "iam", "--role", "packer")
    names = [each["Sid"] for each in json.loads(outcome.out)["Statement"]]
    assert names == ["ShopOrders", "LogsLog"]
    assert "The policy allows what the role does not:" in outcome.err


def test_the_whole_result_is_available_as_one_json_object(run: Run) -> None:
    outcome = run("export", "iam", "--table", "policed:shop", "--role", "packer", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    result = json.loads(outcome.out)
    assert result["policy"]["Statement"]
    assert result["gaps"] == [
        {
            "table": "Shop",
            "role": "packer",
            "kind": "batch-writes",
            "direction": "narrower",
            "actions": ["BatchWriteItem"],
            "subject": "orders",
            "index": None,
            "fact": "a batch may put and delete, and IAM cannot distinguish the two, so batch writes "
            "are left out",
            "advice": "Write items one by one, or in transactions.",
        }
    ]


def test_several_roles_have_one_policy(run: Run) -> None:
    outcome = run("export", "iam", "--role", "customer", "--role", "packer", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    result = json.loads(outcome.out)
    names = [each["Sid"] for each in result["policy"]["Statement"]]
    assert names == [
        "ShopCustomerCartsOrders",
        "ShopCustomerCarts",
        "ShopPackerOrders",
        "LogsLog",
    ]
    assert len(parse_policy(json.dumps(result["policy"])).statements) == 4
    gaps = [(each["table"], each["role"], each["kind"]) for each in result["gaps"]]
    assert ("Shop", "packer", "batch-writes") in gaps
    assert ("Shop", None, "mixed-batches") in gaps
    told = run("export", "iam", "--role", "customer", "--role", "packer").err
    assert "  packer: orders: a batch may put and delete" in told
    assert "the partitions that the roles may use" in told
    refused = run("export", "iam", "--role", "customer", "--role", "absent")
    assert refused.code == 2
    assert "there is no role 'absent'" in refused.err


def test_a_policy_is_written_into_a_file(run: Run) -> None:
    outcome = run("export", "iam", "--role", "customer", "--output", "customer.json")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert json.loads(Path("customer.json").read_text("utf-8"))["Statement"]
    refused = run("export", "iam", "--role", "customer", "--output", "absent/customer.json")
    assert refused.code == 2
    assert "absent/customer.json cannot be written: No such file or directory." in refused.err


def test_a_role_that_iam_cannot_express_exits_with_one(run: Run) -> None:
    outcome = run("export", "iam", "--role", "nobody")
    assert outcome.code == 1
    assert json.loads(outcome.out)["Statement"] == []
    assert "so the policy allows nothing" in outcome.err


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (
            ["--role", "absent"],
            "there is no role 'absent'; Shop, Logs declares customer, nobody, packer.",
        ),
        (["pantry", "--role", "absent"], "Pantry declares keeper, member, service, user."),
        (["--role", "customer", "--region", "Frankfurt"], "'Frankfurt' is not a region."),
        (
            ["--role", "customer", "--account", "12"],
            "'12' is not an account id; those have 12 digits.",
        ),
    ],
)
def test_invalid_arguments_are_refused(run: Run, options: list[str], fact: str) -> None:
    outcome = run("export", "iam", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert " ".join(fact.split()) in " ".join(outcome.err.split())


def test_other_aws_partitions_have_other_arns(run: Run) -> None:
    outcome = run("export", "iam", "--role", "customer", "--region", "cn-north-1")
    resource = json.loads(outcome.out)["Statement"][0]["Resource"]
    assert resource == ["arn:aws-cn:dynamodb:cn-north-1:*:table/Shop"]
