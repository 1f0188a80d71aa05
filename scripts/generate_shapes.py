"""Write the request shapes of DynamoDB's API, from the model that botocore carries.

    python scripts/generate_shapes.py            write src/keyfold/api/shapes/model.json
    python scripts/generate_shapes.py --check    exit 1 when that file is stale

The file holds only what the engine checks requests against: members, JSON types, required members,
lengths, ranges, patterns and enumerations, for every operation. Where the service behaves
differently from the published model, scripts/shape_overrides.json has an entry with its source,
which takes precedence.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "keyfold" / "api" / "shapes" / "model.json"
OVERRIDES = Path(__file__).resolve().parent / "shape_overrides.json"
MODELS = [
    Path("data", service, "2012-08-10", "service-2.json.gz")
    for service in ("dynamodb", "dynamodbstreams")
]
# In the order in which the service reports them for one value, unless an override changes it.
CONSTRAINTS = ("enum", "pattern", "min", "max")

Shape = dict[str, Any]


def read_published_model() -> Shape:
    """Return the models of the API and of its streams, as published with botocore, combined."""
    spec = find_spec("botocore")
    if spec is None or spec.origin is None:
        sys.exit(
            "generate_shapes: botocore is not installed. Install the development dependencies."
        )
    published: Shape = {"operations": {}, "shapes": {}}
    for path in MODELS:
        with gzip.open(Path(spec.origin).parent / path) as file:
            model = json.load(file)
        published["operations"] |= model["operations"]
        for name, shape in model["shapes"].items():
            if compact(published["shapes"].setdefault(name, shape)) != compact(shape):
                sys.exit(f"generate_shapes: {name} is one thing here and another in {path}.")
    return published


def compact(shape: Shape) -> Shape:
    """Return a shape reduced to what requests are checked against."""
    kind = shape["type"]
    short: Shape = {"type": kind}
    match kind:
        case "structure":
            short["members"] = {name: member["shape"] for name, member in shape["members"].items()}
            if required := shape.get("required"):
                short["required"] = sorted(required)
        case "list":
            short["of"] = shape["member"]["shape"]
        case "map":
            short["key"] = shape["key"]["shape"]
            short["of"] = shape["value"]["shape"]
        case _:
            pass
    if constraints := {name: shape[name] for name in CONSTRAINTS if name in shape}:
        short["constraints"] = constraints
    return short


def build_model(published: Shape, overrides: list[Shape]) -> Shape:
    """Return the compact model of every operation's input, with the overrides applied."""
    operations = {
        name: operation["input"]["shape"] for name, operation in published["operations"].items()
    }
    every = {name: compact(shape) for name, shape in published["shapes"].items()}
    for override in overrides:
        for name, changes in override["shapes"].items():
            if name not in every and "type" not in changes:
                sys.exit(f"generate_shapes: shape_overrides.json changes {name}, which is unknown.")
            shape = every.setdefault(name, {})
            for fact, value in changes.items():
                # Members are merged one by one; every other property is replaced entirely.
                shape[fact] = shape[fact] | value if fact == "members" else value
    shapes: Shape = {}

    def add(name: str) -> None:
        if name not in shapes:
            shapes[name] = every[name]
            re.compile(every[name].get("constraints", {}).get("pattern", ""))
            inner = [*every[name].get("members", {}).values()]
            for used in [*inner, every[name].get("key"), every[name].get("of")]:
                if used is not None:
                    add(used)

    for name in operations.values():
        add(name)
    return {
        "operations": dict(sorted(operations.items())),
        "shapes": dict(sorted(shapes.items())),
    }


def render_model(model: Shape) -> str:
    """Return the file's text: one operation or shape per line, so that diffs stay small."""
    lines = ["{"]
    for part, end in (("operations", "},"), ("shapes", "}")):
        lines.append(f'"{part}": {{')
        entries = [
            f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}"
            for name, value in model[part].items()
        ]
        lines.append(",\n".join(entries))
        lines.append(end)
    lines.append("}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the file, or check whether it is up to date."""
    parser = argparse.ArgumentParser(description="Write the request shapes of DynamoDB's API.")
    parser.add_argument("--check", action="store_true", help="only say whether the file is fresh")
    check: bool = parser.parse_args().check
    model = build_model(read_published_model(), json.loads(OVERRIDES.read_text(encoding="utf-8")))
    text = render_model(model)
    if not check:
        TARGET.write_text(text, encoding="utf-8")
        print(f"wrote {TARGET.relative_to(ROOT)}: {len(model['shapes'])} shapes")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TARGET.relative_to(ROOT)} is stale: run python scripts/generate_shapes.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
