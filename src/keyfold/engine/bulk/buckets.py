"""Local folders that stand in for S3 buckets.

The bucket `orders` is the subfolder `orders` of the folder that the engine was opened with. Names
and prefixes come from requests, so none of them may lead out of that folder.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from keyfold.errors import ValidationException

_UNFINISHED = ".partial"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


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
        """Return the path of a file to read. Raises BucketFailed if it is outside of the bucket."""
        folder = self._folder(bucket)
        path = folder / key
        if not path.resolve().is_relative_to(folder):
            raise _leads_out(key)
        return path

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Write a file atomically. Raises BucketFailed."""
        try:
            *folders, name = key.split("/")
            with _open_folder(self._folder(bucket), folders, key) as folder:
                _write_file(folder, name, content)
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


@contextmanager
def _open_folder(bucket: Path, names: Sequence[str], key: str) -> Generator[int]:
    """Yield a descriptor of a folder in a bucket, and make it if needed; links are not followed.

    Each folder is opened in the one before, so that no link can come between a check and a write.
    """
    folder = os.open(bucket, _FOLDER)
    try:
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            try:
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            except OSError:
                if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
                    raise _leads_out(key) from None
                raise
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _write_file(folder: int, name: str, content: bytes) -> None:
    unfinished = f".{name}.{uuid.uuid4().hex}{_UNFINISHED}"
    handle = os.open(unfinished, _NEW_FILE, 0o666, dir_fd=folder)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a file descriptor
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # A link of this name is replaced, not followed.
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(unfinished, dir_fd=folder)
        raise


def _leads_out(key: str) -> BucketFailed:
    return BucketFailed("AccessDenied", f"{key} leads out of the bucket")


def _to_failure(error: OSError) -> BucketFailed:
    if isinstance(error, PermissionError):
        return BucketFailed("AccessDenied", "Access Denied")
    return BucketFailed("S3Error", error.strerror or "the file cannot be written")
