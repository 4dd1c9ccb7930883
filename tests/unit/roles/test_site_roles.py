from __future__ import annotations

import pytest

from support.filters import filter_plugin

LISTED = ["hardware", "kernel", "nccl"]
site_roles = filter_plugin("site_roles").site_roles


@pytest.mark.parametrize(
    ("node_roles", "first", "last", "between"),
    [
        (["hardware", "nccl"], [], [], []),
        (["mirror", "proxy", "hardware", "nccl"], ["mirror", "proxy"], [], []),
        (["kernel", "motd", "audit"], [], ["motd", "audit"], []),
        (["mirror", "kernel", "motd"], ["mirror"], ["motd"], []),
        (["mirror", "hardware", "proxy", "nccl", "motd"], ["mirror"], ["proxy", "motd"], ["proxy"]),
        (["motd"], ["motd"], [], []),
        ([], [], [], []),
    ],
)
def test_every_role_of_the_site_has_one_place(node_roles: list[str], first: list[str], last: list[str], between: list[str]) -> None:
    assert site_roles(node_roles, LISTED) == {"first": first, "last": last, "between": between}
