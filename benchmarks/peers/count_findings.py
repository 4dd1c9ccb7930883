"""A pytest plugin that writes the findings of each host as JSON to the file named by BENCH_FINDINGS."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators.plugin import RUN

if TYPE_CHECKING:
    from collections.abc import Generator

EVERY = "*"  # a check that does not use a host
_found: dict[str, dict[str, str]] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Function) -> Generator[None, object, object]:
    """Record the findings of one check function on one host."""
    run = item.config.stash[RUN]
    before = len(run.findings)
    result = yield
    params = item.callspec.params if hasattr(item, "callspec") else {}
    host = params["_testinfra_host"].backend.hostname if "_testinfra_host" in params else EVERY
    _found.setdefault(host, {}).update({f.check: f.outcome.value for f in run.findings[before:]})
    return result


def pytest_sessionfinish() -> None:
    """Write all findings."""
    Path(os.environ["BENCH_FINDINGS"]).write_text(json.dumps(_found), encoding="utf-8")
