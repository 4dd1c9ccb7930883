"""Parameters of a request: checked by the same types from which the OpenAPI document describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from clusterctl.model.errors import UsageProblemError
from clusterctl.model.state import State

if TYPE_CHECKING:
    from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter.

    Attributes:
        kind: the type of its value.
        default: where it is left out; None = no value. Without meaning where it is required.
        in_path: it is a part of the path, and so always there.
    """

    name: str
    kind: Any
    description: str
    default: Any = None
    required: bool = False
    in_path: bool = False


LIMIT = Parameter("limit", Annotated[int, Field(ge=1, le=1000)], "How many to list.", 200)
OFFSET = Parameter("offset", Annotated[int, Field(ge=0, le=10**9)], "How many to leave out at the beginning.", 0)
RACK = Parameter("rack", str, "Only nodes of this rack; empty: those without one.")
STATE = Parameter("state", State, "Only nodes in this state.")
_TIME = r"^\d{4}-\d\d-\d\d(T\d\d(:\d\d(:\d\d(\.\d{1,6})?)?)?Z?)?$"
SINCE = Parameter(
    "since",
    Annotated[str, Field(pattern=_TIME)],
    "Only nodes that entered their state at this time or later: UTC, ISO 8601, a date is enough.",
)
BEFORE = Parameter("before", str, "A run: its id, a unique prefix of it, or `last`.", required=True)
AFTER = Parameter("after", str, "The run to compare with it.", required=True)
NAME = Parameter("name", str, "The exact name.", required=True, in_path=True)
RUN = Parameter("run", str, "Id of a run, a unique prefix of it, or `last`.", required=True, in_path=True)


def values_of(request: Request, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """The values of the parameters of a request.

    Raises:
        UsageProblemError: one is missing, given twice, not possible, or unknown: a mistyped filter must not return everything.
    """
    known = {p.name for p in parameters if not p.in_path}
    for name in request.query_params:
        if name not in known:
            raise UsageProblemError(detail=f"unknown parameter {name!r}", hint=f"known: {', '.join(sorted(known)) or 'none'}")
    return {p.name: _value(request, p) for p in parameters}


def _value(request: Request, parameter: Parameter) -> Any:
    if parameter.in_path:
        return request.path_params[parameter.name]
    given = request.query_params.getlist(parameter.name)
    if not given:
        if parameter.required:
            raise UsageProblemError(detail=f"the parameter {parameter.name!r} is missing", hint=parameter.description)
        return parameter.default
    if len(given) > 1:
        raise UsageProblemError(detail=f"the parameter {parameter.name!r} is given more than once", hint=parameter.description)
    try:
        return TypeAdapter(parameter.kind).validate_python(given[0])
    except ValidationError as e:
        raise UsageProblemError(detail=f"{parameter.name}={given[0]!r}: {e.errors()[0]['msg']}", hint=parameter.description) from e
