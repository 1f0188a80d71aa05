"""Print why JSON documents do not match a JSON Schema; nothing if they do.

Run by the Python of requirements-validators.txt: python validate_documents.py SCHEMA DOCUMENTS
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> None:
    """Print one line for each fault of the schema or of a document."""
    schema, documents = (json.loads(Path(each).read_text("utf-8")) for each in sys.argv[1:])
    kind: Any = import_module("jsonschema").Draft202012Validator
    kind.check_schema(schema)
    for name, document in documents:
        # By its own definition: that of another entity may be less strict.
        own = kind({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
        for error in own.iter_errors(document):
            print(f"{name}: {error.message}")


if __name__ == "__main__":
    main()
