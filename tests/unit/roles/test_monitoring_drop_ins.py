from __future__ import annotations

import pytest

from support.filters import filter_plugin

plugin = filter_plugin("monitoring_drop_ins")
UNIT = "prometheus-node-exporter.service"
OWN = f"/run/systemd/system.control/{UNIT}.d/50-MemoryMax.conf"
ALL = "/etc/systemd/system/service.d/site.conf"


def answer(limit: str, *paths: str) -> dict[str, object]:
    return {"item": {"unit": UNIT}, "stdout": f"MemoryMax={limit}\nDropInPaths={' '.join(paths)}"}


@pytest.mark.parametrize(
    ("answers", "limit_mib", "found"),
    [
        ([answer("536870912", OWN, ALL)], 512, []),
        ([answer("104857600", OWN, ALL)], 512, [OWN]),
        ([answer("infinity", OWN)], 512, [OWN]),
        ([answer("104857600", OWN)], 0, [OWN]),
        ([answer("infinity", ALL)], 0, []),
        ([answer("104857600")], 512, []),
        ([], 512, []),
    ],
)
def test_only_drop_ins_of_exporters_with_another_limit_are_selected(
    answers: list[dict[str, object]], limit_mib: int, found: list[str]
) -> None:
    assert plugin.drop_ins(answers, limit_mib) == found
