"""The files of the browser's side, served as they are."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from keyfold.studio._access import hash_script

_FOLDER = Path(__file__).with_name("static")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css"}
_START, _END = '<script type="importmap">', "</script>"


@dataclass(frozen=True)
class StaticFile:
    """A file: its bytes, type and entity tag."""

    body: bytes
    content_type: str
    tag: str

    @cached_property
    def compressed(self) -> bytes:
        """The file as browsers get it, compressed with gzip."""
        return gzip.compress(self.body, mtime=0)


def read_static_files() -> dict[str, StaticFile]:
    """Return every file, by its path below `/static/`."""
    found: dict[str, StaticFile] = {}
    for file in sorted(_FOLDER.rglob("*")):
        if file.is_file() and file.name != "index.html":
            found[file.relative_to(_FOLDER).as_posix()] = _read(file)
    return found


def read_shell() -> StaticFile:
    """Return the page that every address of the studio shows."""
    return _read(_FOLDER / "index.html")


def make_policy(shell: StaticFile) -> str:
    """Return the content security policy: nothing but the studio's own files, and no inline code.

    The one inline script is the map of module names, which no browser loads from a file.
    """
    text = shell.body.decode()
    start = text.index(_START) + len(_START)
    allowed = hash_script(text[start : text.index(_END, start)])
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {allowed}",
            "style-src 'self'",
            "img-src 'self' data: blob:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _read(file: Path) -> StaticFile:
    body = file.read_bytes()
    guessed = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "text/plain"
    charset = "; charset=utf-8" if guessed.startswith("text/") else ""
    return StaticFile(body, guessed + charset, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
