from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.bundle_run import example_bundle

if TYPE_CHECKING:
    from clusterctl.adapters.validators.bundle import Bundle


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return example_bundle(tmp_path_factory.mktemp("state"))
