"""Values of options that commands choose from."""

from __future__ import annotations

from enum import StrEnum


class DocumentFormat(StrEnum):
    """The format of a design document."""

    MARKDOWN = "markdown"
    HTML = "html"


class FindingFormat(StrEnum):
    """How findings of lint are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class LeastSeverity(StrEnum):
    """The severity from which lint exits with 1."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"
