"""Values of a role, checked and completed by its argument_specs.yml."""

from __future__ import annotations

from typing import Any

import pytest

from clusterctl.adapters.inventory.ansible_worker.argument_schema import check_arguments

SOURCE = {"type": "dict", "default": {}, "options": {"uris": {"type": "list", "elements": "str"}, "key": {"type": "str"}}}
FILLED = {"type": "dict", "default": {}, "options": {"port": {"type": "int", "default": 9100}}}


@pytest.mark.parametrize(
    ("option", "given", "found"),
    [
        (SOURCE, {}, {}),
        (SOURCE, {"uris": ["http://mirror.example.net"]}, {"uris": ["http://mirror.example.net"], "key": None}),
        (SOURCE, {"key": ""}, {"uris": None, "key": ""}),
        (FILLED, {}, {"port": 9100}),
        ({"type": "dict"}, {}, {}),
    ],
)
def test_what_is_not_declared_stays_empty(option: dict[str, Any], given: dict[str, Any], found: dict[str, Any]) -> None:
    assert check_arguments({"role_source": option}, {"role_source": given}).values == {"role_source": found}
