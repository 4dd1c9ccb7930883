"""The agent samples the PCIe links above the GPUs while a step runs."""

from __future__ import annotations

import ast
import time
from typing import TYPE_CHECKING

import pytest

from support.agents import FILES, AgentNode, program, step
from support.checks import write_files
from support.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

sampler = program("link_sampler")
GPUS = "0x10de 0x03"
LINK = {"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "current_link_speed": "2.5 GT/s PCIe", "current_link_width": "16"}


def tree(root: Path, *addresses: str) -> Path:
    """A GPU below ports, the root port first; the folder of the GPU."""
    folder = root / "devices/pci0000:15"
    for address in addresses:
        folder = folder / address
        ids = {"vendor": "0x10de", "class": "0x030200"} if address == addresses[-1] else {"vendor": "0x1000", "class": "0x060400"}
        write_files(folder, {name: f"{text}\n" for name, text in {**LINK, **ids}.items()})
    devices = root / "bus/pci/devices"
    devices.mkdir(parents=True, exist_ok=True)
    (devices / addresses[-1]).symlink_to(folder)
    return folder


SWITCH = ("0000:15:01.0", "0000:18:00.0", "0000:19:00.0", "0000:1b:00.0")


def test_the_hops_of_a_gpu_below_a_switch(tmp_path: Path) -> None:
    gpu = tree(tmp_path, *SWITCH)
    write_files(gpu.parents[2], {"max_link_speed": "16.0 GT/s PCIe\n"})
    found = sampler.LinkSampler(GPUS, tmp_path).start().end()
    assert [(h["device"], h["lower"], h["upper"], h["most_speed_gts"], h["most_width"]) for h in found] == [
        ("0000:1b:00.0", "0000:1b:00.0", "0000:19:00.0", 32.0, 16),
        ("0000:1b:00.0", "0000:18:00.0", "0000:15:01.0", 16.0, 16),
    ]


def test_the_best_speed_and_the_least_width_of_all_samples_stay(tmp_path: Path) -> None:
    gpu = tree(tmp_path, "0000:15:01.0", "0000:16:00.0")
    running = sampler.LinkSampler(GPUS, tmp_path).start()
    seen = []
    for speed, width in (("32.0 GT/s PCIe", "8"), ("2.5 GT/s PCIe", "16")):
        write_files(gpu, {"current_link_speed": speed, "current_link_width": width})
        time.sleep(0.3)
        seen.append(running.hops[0]["samples"])
    (hop,) = running.end()
    assert (hop["speed_gts"], hop["width"]) == (32.0, 8)
    assert 1 < seen[0] < seen[1]


def test_a_short_step_is_sampled_at_both_ends(tmp_path: Path) -> None:
    tree(tmp_path, "0000:15:01.0", "0000:16:00.0")
    assert sampler.LinkSampler(GPUS, tmp_path).start().end()[0]["samples"] >= 2


@pytest.mark.parametrize(("speed", "width"), [("Unknown", "16"), ("", "16"), ("32.0 GT/s PCIe", "63"), ("32.0 GT/s PCIe", "0")])
def test_what_the_kernel_does_not_know_is_no_sample(speed: str, width: str, tmp_path: Path) -> None:
    write_files(tree(tmp_path, "0000:15:01.0", "0000:16:00.0"), {"current_link_speed": speed, "current_link_width": width})
    (hop,) = sampler.LinkSampler(GPUS, tmp_path).start().end()
    assert hop["samples"] == 0
    assert None in (hop["speed_gts"], hop["width"])


def test_a_gpu_that_falls_off_the_bus_keeps_what_was_seen(tmp_path: Path) -> None:
    gpu = tree(tmp_path, "0000:15:01.0", "0000:16:00.0")
    running = sampler.LinkSampler(GPUS, tmp_path).start()
    (gpu / "current_link_speed").unlink()
    (gpu / "current_link_width").unlink()
    (hop,) = running.end()
    assert (hop["speed_gts"], hop["width"]) == (2.5, 16)


def test_a_machine_without_ports_has_a_hop_without_an_upper_end(tmp_path: Path) -> None:
    tree(tmp_path, "0000:00:05.0")
    (hop,) = sampler.LinkSampler(GPUS, tmp_path).start().end()
    assert (hop["lower"], hop["upper"], hop["most_speed_gts"], hop["most_width"]) == ("0000:00:05.0", "", 32.0, 16)


def test_other_devices_have_no_hops(tmp_path: Path) -> None:
    write_files(tree(tmp_path, "0000:15:01.0", "0000:16:00.0"), {"class": "0x068000\n"})
    assert sampler.LinkSampler(GPUS, tmp_path).start().end() == []


def test_the_agent_samples_only_where_the_step_says_so(tmp_path: Path) -> None:
    steps = [step("loads", ["true"], links_of="0x"), step("rests", ["true"])]
    found = AgentNode(tmp_path, "n1", free_port(), steps).start().end()
    assert {name: r.exit_status for name, r in found.items()} == {"loads": 0, "rests": 0}
    assert all(hop.lower for hop in found["loads"].links)
    assert found["rests"].links == ()


def test_python_3_8() -> None:
    ast.parse((FILES / "link_sampler.py").read_text(encoding="utf-8"), feature_version=(3, 8))
