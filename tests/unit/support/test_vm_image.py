"""Conditions under which the image of the acceptance VM is not built."""

from __future__ import annotations

import pytest

from clusterctl_lab.apt_sources import AptSources
from support import vm_image


def test_a_machine_of_another_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm_image, "TOOLS", ())
    monkeypatch.setattr(vm_image, "host_sources", lambda: AptSources("noble", "Types: deb\n"))
    with pytest.raises(vm_image.ImageError, match=r"Debian 12 .* has noble"):
        vm_image.ensure_image(lambda _text: None)


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm_image, "TOOLS", ("sh", "no-such-tool"))
    with pytest.raises(vm_image.ImageError, match=r"^no-such-tool: not found; `make acceptance`"):
        vm_image.ensure_image(lambda _text: None)


def test_another_mirror_gives_another_image() -> None:
    one, other = (AptSources("bookworm", f"URIs: http://{host}/debian\n") for host in ("a.example", "b.example"))
    assert vm_image._digest(one) != vm_image._digest(other)
    assert vm_image._digest(one) == vm_image._digest(one)
