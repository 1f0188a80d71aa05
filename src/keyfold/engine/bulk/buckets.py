"""Local folders that stand in for S3 buckets.

The bucket `orders` is the subfolder `orders` of the folder that the engine was opened with. Names
and prefixes come from requests, so none of them may lead out of that folder.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from keyfold.errors import ValidationException

_UNFINISHED = ".partial"


class BucketFailed(Exception):
    """A bucket cannot be used; `code` and `message` go into the description of the job."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


def check_prefix(parameter: str, prefix: str | None) -> None:
    """Raise ValidationException for a prefix that could lead out of the bucket as a path."""
    parts = (prefix or "").removesuffix("/").split("/")
    is_path = any(part in ("", ".", "..") for part in parts) and parts != [""]
    if is_path or any(sign in (prefix or "") for sign in ("\\", "\0", ":")):
        raise ValidationException(
            f"Invalid {parameter}: {prefix}. Buckets are folders here: a prefix has names between "
            "slashes, none of them empty, '.' or '..', and no colons or backslashes"
        )


class Buckets:
    """The folder that holds the buckets of an engine, if it was opened with one."""

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def check(self) -> None:
        """Raise ValidationException if the engine was opened without a folder of buckets."""
        if self._root is None:
            raise ValidationException(
                "Exports, imports and bulk operations need a folder of buckets in place of S3: "
                "open the engine with buckets=PATH, or serve with --buckets PATH"
            )

    def check_bucket(self, bucket: str) -> None:
        """Raise BucketFailed if the bucket does not exist."""
        self._folder(bucket)

    def list_keys(self, bucket: str, prefix: str) -> list[str]:
        """Return the keys of a bucket that start with a prefix, sorted.

        Links that lead out of the bucket are skipped. Raises BucketFailed if the bucket does not
        exist.
        """
        folder = self._folder(bucket)
        return sorted(key for key in _walk(folder) if key.startswith(prefix))

    def path_of(self, bucket: str, key: str) -> Path:
        """Return the path of a file to read."""
        return self._folder(bucket) / key

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Write a file atomically. Raises BucketFailed."""
        try:
            folder = self._folder(bucket)
            path = folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.parent.resolve().is_relative_to(folder):
                raise BucketFailed("AccessDenied", f"{key} leads out of the bucket")
            unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}{_UNFINISHED}")
            try:
                with unfinished.open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)
        except OSError as error:
            raise _to_failure(error) from error

    def _folder(self, bucket: str) -> Path:
        if self._root is None:
            raise BucketFailed("S3NoSuchBucket", "The specified bucket does not exist")
        folder = (self._root / bucket).resolve()
        if folder.parent != self._root.resolve() or not folder.is_dir():
            raise BucketFailed("S3NoSuchBucket", "The specified bucket does not exist")
        return folder


def _walk(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent) / name
            if not name.endswith(_UNFINISHED) and path.resolve().is_relative_to(folder):
                yield path.relative_to(folder).as_posix()


def _to_failure(error: OSError) -> BucketFailed:
    if isinstance(error, PermissionError):
        return BucketFailed("AccessDenied", "Access Denied")
    return BucketFailed("S3Error", error.strerror or "the file cannot be written")
