"""A table as the input of CreateTable, for `aws dynamodb create-table --cli-input-json`."""

from __future__ import annotations

from keyfold.export._exported import ExportedDocument, ExportGap, find_unique_gaps
from keyfold.model import Table


def export_create_table(table: Table) -> ExportedDocument:
    """Return the body of the CreateTable call; raises DeclarationInvalid.

    >>> from keyfold import Key
    >>> export_create_table(Table("Songs", key=Key("artist"))).content["KeySchema"]
    [{'AttributeName': 'artist', 'KeyType': 'HASH'}]
    """
    table.check()
    gaps = [*find_unique_gaps([table])]
    if table.ttl is not None:
        gaps.append(
            ExportGap(
                table.name,
                f"CreateTable cannot let items expire by {table.ttl!r}",
                "Run: aws dynamodb update-time-to-live --table-name "
                f"{table.name} --time-to-live-specification "
                f"Enabled=true,AttributeName={table.ttl}",
            )
        )
    return ExportedDocument(table.to_dynamodb(), tuple(gaps))
