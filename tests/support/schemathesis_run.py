"""A run of schemathesis over an application in this process: requests that its OpenAPI document allows, and requests that it forbids."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_CONFIG = {"seed": 1, "base-url": "http://127.0.0.1", "workers": 1, "continue-on-failure": True}
_DETERMINISTIC = {"deterministic": True, "database": "none"}


@dataclass(frozen=True)
class Requested:
    """What the requests of a run found.

    Attributes:
        answers: (operation, HTTP status) -> how many; requests in sequence have the operation `Stateful tests`.
        failures: the checks that failed, each with the operation and what it says.
    """

    answers: Counter[tuple[str, int]]
    failures: tuple[tuple[str, str, str], ...]

    @property
    def failed_checks(self) -> frozenset[str]:
        """The names of the checks that failed."""
        return frozenset(check for check, _, _ in self.failures)


def request_all(app: ASGIApp, document: dict[str, Any], examples: int) -> Requested:
    """Request what a document describes; at least `examples` requests for each operation that has parameters. The same requests each time."""
    config = SchemathesisConfig.from_dict({**_CONFIG, "generation": {**_DETERMINISTIC, "max-examples": examples}})
    schema = schemathesis.openapi.from_dict(document, config=config)
    schema.app = app
    answers: Counter[tuple[str, int]] = Counter()
    failures: set[tuple[str, str, str]] = set()
    for event in from_schema(schema).execute():
        if isinstance(event, events.FatalError):
            raise event.exception
        if isinstance(event, events.NonFatalError):
            failures.add(("error", event.label, str(event.value)))
        if isinstance(event, events.ScenarioFinished):
            recorder = event.recorder
            answers.update((recorder.label, i.response.status_code) for i in recorder.interactions.values() if i.response)
            found = (c for checks in recorder.checks.values() for c in checks)
            failures |= {(c.name, recorder.label, c.failure_info.failure.message) for c in found if c.failure_info}
    return Requested(answers, tuple(sorted(failures)))
