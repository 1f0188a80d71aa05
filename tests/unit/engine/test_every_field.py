"""CreateTable and UpdateTable accept every field of the API, and descriptions return it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import ResourceInUseException, ValidationException
from tests.unit.engine.clocks import Clock

TABLE = "Music"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
POLICY = (
    '{"Statement": {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*"}}'
)
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}

CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "song", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "song", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
GLOBAL: dict[str, Any] = {
    "IndexName": "BySong",
    "KeySchema": [{"AttributeName": "song", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
    "OnDemandThroughput": {"MaxReadRequestUnits": 8},
    "WarmThroughput": {"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 5_000},
}
LOCAL: dict[str, Any] = {
    "IndexName": "Local",
    "KeySchema": CREATE["KeySchema"],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
VECTOR: dict[str, Any] = {
    "IndexName": "ByMood",
    "VectorAttribute": {"AttributeName": "mood"},
    "Projection": {"ProjectionType": "ALL"},
    "Dimensions": 2,
    "DistanceFunction": "EUCLIDEAN",
}

# Each field of CreateTable: the request, and what a description then contains.
CREATED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "AttributeDefinitions": ({}, {"AttributeDefinitions": CREATE["AttributeDefinitions"]}),
    "TableName": ({}, {"TableName": TABLE, "TableArn": ARN}),
    "KeySchema": ({}, {"KeySchema": CREATE["KeySchema"]}),
    "LocalSecondaryIndexes": (
        {"LocalSecondaryIndexes": [LOCAL]},
        {
            "LocalSecondaryIndexes": [
                {
                    **LOCAL,
                    "IndexSizeBytes": 0,
                    "ItemCount": 0,
                    "IndexArn": f"{ARN}/index/Local",
                }
            ]
        },
    ),
    "GlobalSecondaryIndexes": (
        {"GlobalSecondaryIndexes": [GLOBAL]},
        {
            "GlobalSecondaryIndexes": [
                {
                    **GLOBAL,
                    "IndexStatus": "ACTIVE",
                    "ProvisionedThroughput": {
                        "NumberOfDecreasesToday": 0,
                        "ReadCapacityUnits": 0,
                        "WriteCapacityUnits": 0,
                    },
                    "IndexSizeBytes": 0,
                    "ItemCount": 0,
                    "IndexArn": f"{ARN}/index/BySong",
                    "WarmThroughput": {**GLOBAL["WarmThroughput"], "Status": "ACTIVE"},
                }
            ]
        },
    ),
    "BillingMode": ({}, {}),
    "ProvisionedThroughput": (
        {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS},
        {"ProvisionedThroughput": {**UNITS, "NumberOfDecreasesToday": 0}},
    ),
    "StreamSpecification": (
        {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
        {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
    ),
    "SSESpecification": (
        {"SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "key"}},
        {"SSEDescription": {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "key"}},
    ),
    "Tags": ({"Tags": [{"Key": "team", "Value": "red"}]}, {}),
    "TableClass": (
        {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        {"TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"}},
    ),
    "DeletionProtectionEnabled": (
        {"DeletionProtectionEnabled": True},
        {"DeletionProtectionEnabled": True},
    ),
    "WarmThroughput": (
        {"WarmThroughput": {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 9_000}},
        {
            "WarmThroughput": {
                "ReadUnitsPerSecond": 20_000,
                "WriteUnitsPerSecond": 9_000,
                "Status": "ACTIVE",
            }
        },
    ),
    "ResourcePolicy": ({"ResourcePolicy": POLICY}, {}),
    "OnDemandThroughput": (
        {"OnDemandThroughput": {"MaxReadRequestUnits": 3, "MaxWriteRequestUnits": 4}},
        {"OnDemandThroughput": {"MaxReadRequestUnits": 3, "MaxWriteRequestUnits": 4}},
    ),
    "GlobalTableSourceArn": (
        {
            "GlobalTableSourceArn": "arn:aws:dynamodb:eu-west-1:111111111111:table/Music",
            "GlobalTableSettingsReplicationMode": "ENABLED",
        },
        {"GlobalTableSettingsReplicationMode": "ENABLED"},
    ),
    "GlobalTableSettingsReplicationMode": (
        {"GlobalTableSettingsReplicationMode": "ENABLED_WITH_OVERRIDES"},
        {"GlobalTableSettingsReplicationMode": "ENABLED_WITH_OVERRIDES"},
    ),
    "VectorIndexes": (
        {"VectorIndexes": [VECTOR]},
        {
            "VectorIndexes": [
                {
                    **VECTOR,
                    "IndexStatus": "ACTIVE",
                    "IndexSizeBytes": 0,
                    "ItemCount": 0,
                    "IndexArn": f"{ARN}/index/ByMood",
                }
            ]
        },
    ),
}

_REPLICA = {
    "RegionName": "eu-west-1",
    "ReplicaStatus": "ACTIVE",
    "ReplicaArn": ARN.replace("us-east-1", "eu-west-1"),
}

# The same for UpdateTable.
UPDATED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "TableName": ({"DeletionProtectionEnabled": True}, {"TableName": TABLE}),
    "AttributeDefinitions": (
        {
            "AttributeDefinitions": [{"AttributeName": "genre", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [
                {
                    "Create": {
                        "IndexName": "ByGenre",
                        "KeySchema": [{"AttributeName": "genre", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                }
            ],
        },
        {
            "AttributeDefinitions": [
                *CREATE["AttributeDefinitions"],
                {"AttributeName": "genre", "AttributeType": "S"},
            ]
        },
    ),
    "BillingMode": (
        {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS},
        {"BillingModeSummary": {"BillingMode": "PROVISIONED"}},
    ),
    "ProvisionedThroughput": (
        {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS},
        {"ProvisionedThroughput": UNITS},
    ),
    "GlobalSecondaryIndexUpdates": (
        {
            "AttributeDefinitions": CREATE["AttributeDefinitions"],
            "GlobalSecondaryIndexUpdates": [{"Create": GLOBAL}],
        },
        {"GlobalSecondaryIndexes": [{"OnDemandThroughput": {"MaxReadRequestUnits": 8}}]},
    ),
    "StreamSpecification": (
        CREATED["StreamSpecification"][0],
        CREATED["StreamSpecification"][1],
    ),
    "SSESpecification": (
        {"SSESpecification": {"Enabled": True}},
        {"SSEDescription": {"Status": "ENABLED", "SSEType": "KMS"}},
    ),
    "ReplicaUpdates": (
        {
            "ReplicaUpdates": [
                {
                    "Create": {
                        "RegionName": "eu-west-1",
                        "KMSMasterKeyId": "key",
                        "ProvisionedThroughputOverride": {"ReadCapacityUnits": 2},
                        "OnDemandThroughputOverride": {"MaxReadRequestUnits": 9},
                        "TableClassOverride": "STANDARD",
                    }
                }
            ]
        },
        {
            "GlobalTableVersion": "2019.11.21",
            "MultiRegionConsistency": "EVENTUAL",
            "GlobalTableSettingsReplicationMode": "ENABLED_WITH_OVERRIDES",
            "DisassociationProtectionEnabled": True,
            "Replicas": [
                {
                    **_REPLICA,
                    "KMSMasterKeyId": "key",
                    "ProvisionedThroughputOverride": {"ReadCapacityUnits": 2},
                    "OnDemandThroughputOverride": {"MaxReadRequestUnits": 9},
                    "ReplicaTableClassSummary": {"TableClass": "STANDARD"},
                }
            ],
        },
    ),
    "TableClass": (
        {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        {
            "TableClassSummary": {
                "TableClass": "STANDARD_INFREQUENT_ACCESS",
                "LastUpdateDateTime": 1_700_000_000.0,
            }
        },
    ),
    "DeletionProtectionEnabled": (
        {"DeletionProtectionEnabled": True},
        {"DeletionProtectionEnabled": True},
    ),
    "MultiRegionConsistency": (
        {
            "MultiRegionConsistency": "STRONG",
            "ReplicaUpdates": [
                {"Create": {"RegionName": region}} for region in ("us-east-2", "us-west-2")
            ],
        },
        {"MultiRegionConsistency": "STRONG"},
    ),
    "GlobalTableWitnessUpdates": (
        {
            "MultiRegionConsistency": "STRONG",
            "ReplicaUpdates": [{"Create": {"RegionName": "us-east-2"}}],
            "GlobalTableWitnessUpdates": [{"Create": {"RegionName": "us-west-2"}}],
        },
        {"GlobalTableWitnesses": [{"RegionName": "us-west-2", "WitnessStatus": "ACTIVE"}]},
    ),
    "OnDemandThroughput": CREATED["OnDemandThroughput"],
    "WarmThroughput": CREATED["WarmThroughput"],
    "GlobalTableSettingsReplicationMode": (
        {"GlobalTableSettingsReplicationMode": "ENABLED"},
        {"GlobalTableSettingsReplicationMode": "ENABLED"},
    ),
    "DisassociationProtectionEnabled": (
        {"DisassociationProtectionEnabled": False},
        {"DisassociationProtectionEnabled": False},
    ),
    "VectorIndexUpdates": (
        {"VectorIndexUpdates": [{"Create": VECTOR}]},
        {"VectorIndexes": [{"IndexName": "ByMood", "IndexStatus": "ACTIVE"}]},
    ),
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=Clock(), upkeep_seconds=None) as engine:
        yield engine
        assert engine.verify() == []


def _members(shape: str) -> set[str]:
    model: Any = import_module("botocore.session").get_session().get_service_model("dynamodb")
    return set(model.shape_for(shape).members)


def _describe(engine: Engine) -> dict[str, Any]:
    return engine.execute("DescribeTable", {"TableName": TABLE})["Table"]


def _holds(expected: Any, actual: Any) -> bool:
    """Return whether the actual value contains the expected one, at any depth."""
    if isinstance(expected, dict):
        return all(_holds(one, actual.get(name)) for name, one in expected.items())  # pyright: ignore[reportUnknownVariableType] - of JSON
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(_holds, expected, actual))  # pyright: ignore[reportUnknownArgumentType]
    return expected == actual


def test_the_fields_are_those_of_the_model() -> None:
    assert set(CREATED) == _members("CreateTableInput")
    assert set(UPDATED) == _members("UpdateTableInput")


@pytest.mark.parametrize("field", sorted(CREATED))
def test_a_field_of_create_table_is_described(engine: Engine, field: str) -> None:
    parameters, expected = CREATED[field]
    answer = engine.execute("CreateTable", {**CREATE, **parameters})["TableDescription"]
    described = _describe(engine)
    for name, value in expected.items():
        assert described[name] == value
        assert name in answer


@pytest.mark.parametrize("field", sorted(UPDATED))
def test_a_field_of_update_table_is_described(engine: Engine, field: str) -> None:
    parameters, expected = UPDATED[field]
    engine.execute("CreateTable", CREATE)
    if field == "DisassociationProtectionEnabled":
        replica = [{"Create": {"RegionName": "eu-west-1"}}]
        engine.execute("UpdateTable", {"TableName": TABLE, "ReplicaUpdates": replica})
    answer = engine.execute("UpdateTable", {"TableName": TABLE, **parameters})["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    assert _holds(expected, _describe(engine))
    # A setting stays when another is changed.
    engine.execute("UpdateTable", {"TableName": TABLE, "DeletionProtectionEnabled": True})
    assert _holds(expected, _describe(engine))


def test_tags_and_the_policy_of_a_new_table_are_kept(engine: Engine) -> None:
    tags = [{"Key": "team", "Value": "red"}]
    engine.execute("CreateTable", {**CREATE, "Tags": tags, "ResourcePolicy": POLICY})
    assert engine.execute("ListTagsOfResource", {"ResourceArn": ARN})["Tags"] == tags
    assert engine.execute("GetResourcePolicy", {"ResourceArn": ARN})["Policy"] == POLICY


def _update(engine: Engine, **parameters: Any) -> None:
    engine.execute("UpdateTable", {"TableName": TABLE, **parameters})


def test_warm_throughput_only_grows(engine: Engine) -> None:
    engine.execute("CreateTable", {**CREATE, "WarmThroughput": {"ReadUnitsPerSecond": 15_000}})
    _update(engine, WarmThroughput={"WriteUnitsPerSecond": 6_000})
    assert _describe(engine)["WarmThroughput"] == {
        "ReadUnitsPerSecond": 15_000,
        "WriteUnitsPerSecond": 6_000,
        "Status": "ACTIVE",
    }
    with pytest.raises(ValidationException, match="decreasing WarmThroughput is not supported"):
        _update(engine, WarmThroughput={"ReadUnitsPerSecond": 14_000})
    with pytest.raises(ValidationException, match="WarmThroughput must not be empty"):
        _update(engine, WarmThroughput={})
    # A provisioned table may start with less.
    engine.execute(
        "CreateTable",
        {
            **CREATE,
            "TableName": "Other",
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": UNITS,
            "WarmThroughput": {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 6},
        },
    )


def test_partly_set_warm_throughput_is_described_in_full(engine: Engine) -> None:
    warm = {"ReadUnitsPerSecond": 12_001}
    engine.execute("CreateTable", {**CREATE, "WarmThroughput": warm, "OnDemandThroughput": {}})
    described = _describe(engine)
    assert described["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12_001,
        "WriteUnitsPerSecond": 4_000,
        "Status": "ACTIVE",
    }
    assert "OnDemandThroughput" not in described


def test_replicas_are_added_changed_and_removed_with_a_warning(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.execute("CreateTable", {**CREATE, "GlobalSecondaryIndexes": [GLOBAL]})
    with caplog.at_level(logging.WARNING, logger="keyfold.engine"):
        _update(engine, ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}])
    (record,) = caplog.records
    assert record.message == (
        "table Music, replicas in eu-west-1: recorded and described, "
        "but nothing is replicated by Keyfold"
    )
    change = {
        "RegionName": "eu-west-1",
        "GlobalSecondaryIndexes": [
            {"IndexName": "BySong", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 3}}
        ],
    }
    _update(engine, ReplicaUpdates=[{"Update": change}])
    (replica,) = _describe(engine)["Replicas"]
    assert replica == {**_REPLICA, "GlobalSecondaryIndexes": change["GlobalSecondaryIndexes"]}
    _update(engine, ReplicaUpdates=[{"Delete": {"RegionName": "eu-west-1"}}])
    described = _describe(engine)
    for name in ("Replicas", "GlobalTableVersion", "MultiRegionConsistency"):
        assert name not in described


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"ReplicaUpdates": [{}]}, "There are no actions specified"),
    (
        {"ReplicaUpdates": [{"Update": {"RegionName": "eu-west-1"}}]},
        "There are no actions specified",
    ),
    (
        {
            "ReplicaUpdates": [
                {
                    "Create": {"RegionName": "us-west-1"},
                    "Delete": {"RegionName": "us-west-1"},
                }
            ]
        },
        "more than one type of replica actions not allowed",
    ),
    (
        {"ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}]},
        "Cannot add or delete the local region through ReplicaUpdates",
    ),
    (
        {"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
        "with name: ‘Music’ because one or more replicas already existed as tables",  # noqa: RUF001 - the service's
    ),
    (
        {"ReplicaUpdates": [{"Delete": {"RegionName": "us-west-1"}}]},
        r"retry the request without these replicas: \[us-west-1\]",
    ),
    (
        {"ReplicaUpdates": [{"Update": {"RegionName": "us-west-1", "KMSMasterKeyId": "k"}}]},
        r"retry the request without these replicas: \[us-west-1\]",
    ),
    (
        {"ReplicaUpdates": [{"Delete": {"RegionName": "eu-west-1"}}] * 2},
        "Only one replica update per region",
    ),
    (
        {
            "ReplicaUpdates": [{"Delete": {"RegionName": "eu-west-1"}}],
            "BillingMode": "PAY_PER_REQUEST",
        },
        "Requests that modify replicas or witnesses must not also modify other fields",
    ),
    ({"MultiRegionConsistency": "STRONG"}, "Only Replica Create actions are supported"),
    (
        {
            "MultiRegionConsistency": "STRONG",
            "ReplicaUpdates": [{"Create": {"RegionName": "us-west-2"}}],
        },
        "MultiRegionConsistency parameter is unsupported on existing global table",
    ),
    (
        {"GlobalTableWitnessUpdates": [{"Create": {"RegionName": "us-west-2"}}]},
        "MultiRegionConsistency must be set as STRONG",
    ),
    (
        {"GlobalTableWitnessUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
        "in a region without a replica",
    ),
    (
        {"GlobalTableWitnessUpdates": [{"Delete": {"RegionName": "us-west-2"}}]},
        r"retry the request without these witnesses: \[us-west-2\]",
    ),
    (
        {"GlobalTableWitnessUpdates": [{}]},
        "Exactly one of Create or Delete",
    ),
    (
        {"DisassociationProtectionEnabled": False, "BillingMode": "PAY_PER_REQUEST"},
        "DisassociationProtection modification must be the only operation",
    ),
]


@pytest.mark.parametrize(("parameters", "words"), INVALID)
def test_invalid_updates_of_replicas_are_refused(
    engine: Engine, parameters: dict[str, Any], words: str
) -> None:
    engine.execute("CreateTable", CREATE)
    _update(engine, ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}])
    before = _describe(engine)
    with pytest.raises(ValidationException, match=words):
        _update(engine, **parameters)
    assert _describe(engine) == before


def test_strong_consistency_needs_three_regions(engine: Engine) -> None:
    engine.execute("CreateTable", CREATE)
    with pytest.raises(ValidationException, match="or two replicas and one witness"):
        _update(
            engine,
            MultiRegionConsistency="STRONG",
            ReplicaUpdates=[{"Create": {"RegionName": "us-east-2"}}],
        )
    _update(engine, **UPDATED["GlobalTableWitnessUpdates"][0])
    leaving: dict[str, Any] = {"ReplicaUpdates": [{"Delete": {"RegionName": "us-east-2"}}]}
    with pytest.raises(ValidationException, match="does not include all witnesses"):
        _update(engine, **leaving)
    witness = [{"Delete": {"RegionName": "us-west-2"}}]
    _update(engine, **leaving, GlobalTableWitnessUpdates=witness)
    assert "GlobalTableWitnesses" not in _describe(engine)


def test_a_replica_is_disassociated_once_its_protection_is_off(engine: Engine) -> None:
    engine.execute("CreateTable", CREATE)
    away = {"RegionName": "us-east-1", "DisassociationMode": "WAIT_FOR_REPLICATION"}
    with pytest.raises(ValidationException, match="only valid for a global table replica"):
        _update(engine, DisassociationProtectionEnabled=False)
    with pytest.raises(ValidationException, match="were not part of the global table"):
        _update(engine, ReplicaUpdates=[{"Disassociate": away}])
    _update(engine, ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}])
    with pytest.raises(ValidationException, match="protected against disassociation"):
        _update(engine, ReplicaUpdates=[{"Disassociate": away}])
    _update(engine, DisassociationProtectionEnabled=False)
    both = [{"Disassociate": away}, {"Delete": {"RegionName": "eu-west-1"}}]
    with pytest.raises(ValidationException, match="must be the only replica update"):
        _update(engine, ReplicaUpdates=both)
    _update(engine, ReplicaUpdates=[{"Disassociate": away}])
    described = _describe(engine)
    assert "Replicas" not in described
    assert "DisassociationProtectionEnabled" not in described


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"Enabled": False, "SSEType": "KMS"}, "SSEType can not be specified if Enabled is false"),
        (
            {"Enabled": False, "KMSMasterKeyId": "key"},
            "KMSMasterKeyId can not be specified if Enabled is false",
        ),
        ({"Enabled": True, "SSEType": "AES256"}, "SSEType AES256 is not supported"),
        (
            {"Enabled": True, "KMSMasterKeyId": "key"},
            "SSEType KMS is required if KMSMasterKeyId is specified",
        ),
    ],
)
def test_contradictory_encryption_settings_are_refused(
    engine: Engine, parameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationException, match=words):
        engine.execute("CreateTable", {**CREATE, "SSESpecification": parameters})


def test_settings_replication_cannot_have_overrides_without_replicas(engine: Engine) -> None:
    engine.execute("CreateTable", CREATE)
    with pytest.raises(ValidationException, match="Only ENABLED and DISABLED"):
        _update(engine, GlobalTableSettingsReplicationMode="ENABLED_WITH_OVERRIDES")


def test_a_replica_of_another_account_needs_its_settings_replicated(engine: Engine) -> None:
    source = "arn:aws:dynamodb:eu-west-1:111111111111:table/Music"
    with pytest.raises(ValidationException, match="ReplicationMode must be ENABLED"):
        engine.execute("CreateTable", {**CREATE, "GlobalTableSourceArn": source})


def test_a_table_accepts_no_second_index_while_one_is_being_filled(engine: Engine) -> None:
    engine.execute("CreateTable", CREATE)
    for number in range(300):
        key = {"artist": {"S": "Nina"}, "song": {"S": str(number)}}
        engine.execute("PutItem", {"TableName": TABLE, "Item": key})
    _update(engine, VectorIndexUpdates=[{"Create": VECTOR}])
    assert _describe(engine)["VectorIndexes"][0]["Backfilling"] is True
    search = {
        "TableName": TABLE,
        "IndexName": "ByMood",
        "SearchVector": [{"N": "1"}, {"N": "1"}],
        "TopK": 1,
    }
    with pytest.raises(ValidationException, match="Cannot search backfilling vector index: ByMood"):
        engine.execute("SearchVectors", search)
    with pytest.raises(ResourceInUseException, match="Table is being updated"):
        _update(engine, VectorIndexUpdates=[{"Delete": {"IndexName": "ByMood"}}])
    engine.run_upkeep()
    assert engine.execute("SearchVectors", search) == {"SearchResults": []}
