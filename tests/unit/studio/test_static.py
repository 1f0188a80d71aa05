"""The browser's side: vendored files, its size, and colours that everybody can read."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import keyfold.studio
from keyfold.studio._static import read_shell, read_static_files

STATIC = Path(keyfold.studio.__file__).with_name("static")
SCRIPTS = sorted((STATIC / "js").rglob("*.js"))
MOST_BYTES = 250_000

Palette = dict[str, tuple[float, float, float]]


def test_vendored_files_are_unchanged() -> None:
    lines = (STATIC / "vendor/SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in map(str.split, lines)}
    files = {path.name for path in (STATIC / "vendor").iterdir()} - {"SHA256SUMS", "README.md"}
    assert listed.keys() == files
    for name, digest in listed.items():
        assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == digest


def test_everything_together_is_small() -> None:
    """All files of all rooms, as browsers get them."""
    files = read_static_files().values()
    assert sum(len(file.compressed) for file in files) + len(read_shell().body) < MOST_BYTES


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_write_no_markup_and_name_no_host(script: Path) -> None:
    text = script.read_text("utf-8")
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function"):
        assert forbidden not in text
    for address in re.findall(r"https?://[^\s\"'`)]+", text):
        # Names of XML dialects are never loaded, and addresses of this machine are examples.
        assert address.startswith(("http://www.w3.org/", "http://127.0.0.1", "http://localhost"))


def read_palettes() -> dict[str, Palette]:
    """Return the colours of each theme."""
    text = (STATIC / "css/tokens.css").read_text("utf-8")
    parts = text.split('[data-theme="dark"]')
    return {"light": _colours(text.split("@media")[0]), "dark": _colours(parts[-1])}


def _colours(text: str) -> Palette:
    found: Palette = {}
    for name, value in re.findall(r"--([a-z0-9-]+): #([0-9a-f]{6});", text):
        red, green, blue = (int(value[at : at + 2], 16) / 255 for at in (0, 2, 4))
        found[name] = (red, green, blue)
    return found


def luminance(colour: tuple[float, float, float]) -> float:
    """Return the relative luminance of a colour, as WCAG defines it."""
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Return the contrast ratio of two colours.

    >>> round(contrast((0, 0, 0), (1, 1, 1)))
    21
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


SURFACES = ("bg", "surface", "raised", "sunken")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast_on_every_surface(theme: str) -> None:
    colours = read_palettes()[theme]
    for ink in ("text", "text-2", "text-3"):
        for surface in SURFACES:
            assert contrast(colours[ink], colours[surface]) >= 4.5, (ink, surface)
    for meaning in ("ok", "warn", "err"):
        assert contrast(colours[f"{meaning}-ink"], colours[f"{meaning}-tint"]) >= 4.5, meaning
        assert contrast(colours["text"], colours[f"{meaning}-tint"]) >= 4.5, meaning


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_of_controls_and_focus_stand_out(theme: str) -> None:
    colours = read_palettes()[theme]
    for line in ("line-control", "focus"):
        for surface in ("bg", "surface", "raised"):
            assert contrast(colours[line], colours[surface]) >= 3, (line, surface)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("number", range(1, 11))
def test_marks_of_entities_are_readable(theme: str, number: int) -> None:
    colours = read_palettes()[theme]
    mark = f"e{number}"
    assert contrast(colours[f"{mark}-on"], colours[mark]) >= 4.5
    assert contrast(colours[f"{mark}-ink"], colours[f"{mark}-tint"]) >= 4.5
    assert contrast(colours["text"], colours[f"{mark}-tint"]) >= 4.5
    assert contrast(colours["text-2"], colours[f"{mark}-tint"]) >= 4.5
    assert contrast(colours[mark], colours["surface"]) >= 3
