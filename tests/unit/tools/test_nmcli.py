from __future__ import annotations

import pytest

from clusterctl_tools import nmcli


@pytest.mark.parametrize(
    ("text", "managed"),
    [("10 (unmanaged)\n", False), ("100 (connected)\n", True), ("30 (disconnected)\n", True), ("", False)],
)
def test_a_device_that_network_manager_has(text: str, managed: bool) -> None:
    assert nmcli.is_managed(text) == managed
