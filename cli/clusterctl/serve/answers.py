"""Documents as JSON responses."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from starlette.responses import Response

from clusterctl.model.errors import ClusterctlError, UnknownNodeError, UnknownRunError, UsageProblemError
from clusterctl.model.web_documents import ProblemDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

# Errors of the client; all others are errors of the server, and may be temporary.
_STATUS = ((UnknownNodeError, 404), (UnknownRunError, 404), (UsageProblemError, 400))


class UnknownRackError(UnknownNodeError):
    """No recorded node is in the rack."""

    template = "no recorded node is in the rack {target!r}"
    hint_template = "the fleet lists racks"


@cache
def adapter(document: Any) -> TypeAdapter[Any]:
    """Serializes documents of a class, and generates their schema."""
    return TypeAdapter(document)


def json_text(document: Any, value: Any) -> bytes:
    """A document as JSON in one line."""
    return adapter(document).dump_json(value)


def json_answer(document: Any, value: Any) -> Response:
    """A document as a response."""
    return Response(json_text(document, value), media_type="application/json")


def problem(status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """An error as a response."""
    return Response(json_text(ProblemDocument, ProblemDocument(detail, hint)), status, headers, "application/json")


def http_status(error: ClusterctlError) -> int:
    """The HTTP status of a response that reports an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 503)
