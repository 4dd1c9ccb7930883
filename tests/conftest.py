"""What every test starts from, wherever it was started."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import clusterctl_validators
from support.memory_folder import memory_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

# a job in the background of a script ignores Ctrl-C, and hands that on to its children, whose tests send it
signal.signal(signal.SIGINT, signal.default_int_handler)

# the time that an example takes depends on what else the machine runs
settings.register_profile("any_load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_load")

if folder := memory_folder():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))  # pytest's own variable: above the folders of tmp_path


@pytest.fixture(autouse=True)
def _validators_of_no_site() -> Iterator[None]:
    """A site's folder of validators is known to the process that read it; the next test has another site."""
    known = list(clusterctl_validators.__path__)
    yield
    clusterctl_validators.__path__[:] = known
