"""Print the CloudFormation template of an exported CDK stack.

Run by the Python of requirements-cdk.txt: python synthesise.py MODULE_FILE STACK
"""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Synthesise the stack, and print its template."""
    path, name = sys.argv[1:]
    found = importlib.util.spec_from_file_location("stack", path)
    assert found is not None
    assert found.loader is not None
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    stack = getattr(module, name)(import_module("aws_cdk").App(), name)
    template: Any = import_module("aws_cdk.assertions").Template
    print(json.dumps(template.from_stack(stack).to_json()))


if __name__ == "__main__":
    main()
