"""Print what cfn-lint and cloudformation-validate say of templates; nothing if they are right.

Run by the Python of requirements-validators.txt: python validate_templates.py TEMPLATE…
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

# Information, which is no fault: notes for agents are missing (I4010), a changed name or key would
# replace the table (I9001), there are no tags (I9040).
_INFORMATION = {"I4010", "I9001", "I9040"}


def main() -> None:
    """Print one line for each fault."""
    cfn_lint: Any = import_module("cfnlint.api")
    engine: Any = import_module("cloudformation_validate").CompositeEngine()
    for path in sys.argv[1:]:
        template = Path(path)
        for match in cfn_lint.lint_all(template.read_text("utf-8")):
            if match.rule.id not in _INFORMATION:
                print(f"{template.name}: cfn-lint: {match}")
        report = engine.validate_template(str(template))
        for each in report.diagnostics:
            if each.rule_id not in _INFORMATION:
                print(f"{template.name}: cloudformation-validate: {each.rule_id}: {each.message}")


if __name__ == "__main__":
    main()
