from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterctl_tools import nvidia_smi
from clusterctl_tools.gpu import EccCounts, UnreadableGpuError
from support.gpu_node import smi_xml
from support.recorded import RECORDED, recorded

QUERIES = sorted(RECORDED.glob("nvidia-smi/**/*.xml")) + sorted(RECORDED.glob("_synthetic-by-source/*.xml"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.name)
def test_every_recorded_query_is_understood(path: object) -> None:
    log = nvidia_smi.parse_query(recorded(str(path)).read_text())
    assert log.driver_version.count(".") >= 1
    assert log.gpus
    assert [g.index for g in log.gpus] == list(range(len(log.gpus)))
    for gpu in log.gpus:
        assert gpu.bus_id
        assert gpu.model
        assert gpu.memory_mib


def test_an_h100_of_driver_590() -> None:
    log = nvidia_smi.parse_query(smi_xml())
    gpu = log.gpus[0]
    assert (log.driver_version, log.runtime_version, log.attached, len(log.gpus)) == ("590.48.01", "13.1", 8, 8)
    assert (gpu.model, gpu.architecture, gpu.serial, gpu.vbios) == ("NVIDIA H100 80GB HBM3", "Hopper", "1652323049512", "96.00.CF.00.01")
    assert (gpu.memory_mib, gpu.pcie_gen_max, gpu.pcie_width_current, gpu.power_limit_w, gpu.power_max_w) == (81559, 4, 16, 700.0, 700.0)
    assert (gpu.fabric_state, gpu.fabric_status, gpu.remap_failure, gpu.recovery_action) == ("Completed", "Success", "No", "None")
    assert gpu.volatile == EccCounts(0, 0, 0, 0)
    assert gpu.retired_pages is None


def test_power_limits_are_found_where_newer_drivers_print_them() -> None:
    """NVIDIA's manual of nvidia-smi, changes of R610: they moved into `gpu_ceiling_power_limit`, and will leave their old place."""
    limits = re.compile(r"\s*<((?:current|requested|default|min|max)_power_limit)>([^<]*)</\1>")
    text = re.sub(
        r"(<gpu_power_readings>)(.*?)(</gpu_power_readings>)", lambda m: m[1] + moved(m[2], limits) + m[3], smi_xml(), flags=re.DOTALL
    )
    old, new = (nvidia_smi.parse_query(t).gpus for t in (smi_xml(), text))
    assert text.count("<gpu_ceiling_power_limit>") == len(new) == 8
    assert new == old


NOTICE = " [Deprecated; will be removed in CUDA 14.0. Use {} instead]"


def test_a_notice_that_a_field_is_deprecated_is_no_part_of_its_value() -> None:
    """Drivers 610.43.02, 610.57.04 and 616.92 print it so in `nvidia-smi -q`; the manual of R610 has fabric state and status among such fields."""
    text = smi_xml().replace("</driver_version>", NOTICE.format("KMD Version") + "</driver_version>")
    text = text.replace("</cuda_version>", NOTICE.format("CUDA UMD Version") + "</cuda_version>").replace(
        "<state>Completed<", "<state>Completed [Deprecated]<"
    )
    assert nvidia_smi.parse_query(text) == nvidia_smi.parse_query(smi_xml())


def test_versions_are_found_under_their_new_names() -> None:
    """`KMD Version` and `CUDA UMD Version` of the same drivers, once the old names are gone."""
    text = smi_xml().replace("driver_version>", "kmd_version>").replace("cuda_version>", "cuda_umd_version>")
    assert nvidia_smi.parse_query(text) == nvidia_smi.parse_query(smi_xml())


@pytest.mark.parametrize(
    ("edit", "health", "problems"),
    [
        ({}, "Healthy", ""),
        ({"<route_unhealthy>False<": "<route_unhealthy>True<"}, "Unhealthy", "route_unhealthy True"),
        (dict.fromkeys(("Full", "False"), "N/A"), None, ""),
    ],
)
def test_the_health_of_a_fabric_is_that_of_its_parts_where_the_driver_prints_no_summary(
    edit: dict[str, str], health: str | None, problems: str
) -> None:
    """575.51.02 prints four parts and neither summary nor configuration (index id 9860293067); the mask is older (NVML of R550, nvmlGpuFabricInfo_v2_t)."""
    text = recorded("nvidia-smi/qx-hardware/qx-gb300.xml").read_text()
    text = re.sub(r"\s*<(summary|incorrect_configuration|partition_assigned)>[^<]*</\1>", "", text)
    fabric = text[text.index("<fabric>") : text.index("</fabric>")]
    changed = fabric
    for old, new in edit.items():
        changed = changed.replace(old, new)
    gpu = nvidia_smi.parse_query(text.replace(fabric, changed)).gpus[0]
    assert (gpu.fabric_state, gpu.fabric_health, gpu.fabric_problems) == ("Completed", health, problems)


def moved(readings: str, limits: re.Pattern[str]) -> str:
    inner = "".join(m[0] for m in limits.finditer(readings))
    return limits.sub("", readings) + f"<gpu_ceiling_power_limit>{inner}</gpu_ceiling_power_limit>"


def test_a_v100_counts_single_and_double_bits() -> None:
    gpu = nvidia_smi.parse_query(recorded("nvidia-smi/sparecores/aws-p3.16xlarge.xml").read_text()).gpus[0]
    assert gpu.volatile.dram_uncorrectable == 0
    assert gpu.retired_pages == 0
    assert gpu.remapped_uncorrectable is None


@given(cut=st.integers(min_value=0, max_value=200))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_answer_is_refused(cut: int) -> None:
    text = smi_xml().rstrip()
    with pytest.raises(UnreadableGpuError):
        nvidia_smi.parse_query(text[: len(text) * cut // 201])


@given(st.text())
@settings(deadline=None)
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(UnreadableGpuError):
        nvidia_smi.parse_query(text)


@pytest.mark.parametrize("line", recorded("nvidia-smi/lost-gpu-stderr-variants.txt").read_text().splitlines() if RECORDED.exists() else [])
def test_the_message_of_a_lost_gpu(line: str) -> None:
    assert nvidia_smi.unreadable(line).lost


def test_a_driver_that_is_not_loaded_is_not_a_lost_gpu() -> None:
    assert not nvidia_smi.unreadable("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.").lost


def test_nvlinks() -> None:
    text = recorded("nvidia-smi/capture-h100-80gb-hbm3-590.48.01/capabilities-nvlink-s.txt").read_text()
    assert nvidia_smi.parse_nvlinks(text) == {0: dict.fromkeys(range(18), 26.562)}


def test_inactive_nvlinks_count_as_none() -> None:
    assert nvidia_smi.parse_nvlinks(recorded("nvidia-smi/azure-nhc-bad_nvlink_status.txt").read_text()) == {6: {}}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("azure-nhc-good_nvlink_status.txt", {7: dict.fromkeys(range(12), 25.0)}),
        ("nvlink-s-b200-gpu2-all-inactive.txt", {2: {}}),
        ("nvlink-s-v100-two-inactive.txt", {3: dict.fromkeys((0, 1, 2, 4), 25.781)}),
    ],
)
def test_recorded_nvlinks(name: str, found: dict[int, dict[int, float]]) -> None:
    assert nvidia_smi.parse_nvlinks(recorded(f"nvidia-smi/{name}").read_text()) == found


@pytest.mark.parametrize("word", ["inActive", "<inactive>", "<inActive>", "N/A", "nan GB/s", "26.562 GT/s", "0x GB/s"])
def test_a_link_without_a_rate_is_not_active(word: str) -> None:
    text = f"GPU 0: NVIDIA B200 (UUID: GPU-1)\n\t Link 0: 53.125 GB/s\n\t Link 1: {word}\n\t C2C Link 0: 44.712 GB/s\n"
    assert nvidia_smi.parse_nvlinks(text) == {0: {0: 53.125}}


def test_no_nvlinks_at_all() -> None:
    with pytest.raises(UnreadableGpuError):
        nvidia_smi.parse_nvlinks("")


def test_topology_of_eight_gpus_and_four_hcas() -> None:
    topology = nvidia_smi.parse_topology(recorded("nvidia-smi/llmaction-topo-2.txt").read_text())
    assert sorted(topology) == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
    assert topology["mlx5_1"][3] == "PIX"
    assert topology["mlx5_3"][0] == "SYS"


def test_topology_with_underlined_header() -> None:
    assert nvidia_smi.parse_topology(recorded("nvidia-smi/capture-h100-80gb-hbm3-590.48.01/capabilities-topo-m.txt").read_text()) == {}


def test_no_topology() -> None:
    with pytest.raises(UnreadableGpuError):
        nvidia_smi.parse_topology("Failed to initialize NVML: Unknown Error\n")


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc", "error", "reason"),
    [
        ("", "", None, "nvidia-smi: No such file or directory", "No such file"),
        ("Failed to initialize NVML\nmore", "", 18, "", "nvidia-smi exit 18: Failed to initialize NVML"),
        ("", "", 255, "", "nvidia-smi exit 255: no output"),
    ],
)
def test_why_there_is_no_answer(stdout: str, stderr: str, rc: int | None, error: str, reason: str) -> None:
    assert reason in nvidia_smi.explain(stdout, stderr, rc, error)


FIELDS = ("index", "name", "serial")


def test_rows_of_chosen_fields() -> None:
    assert nvidia_smi.fields_argv(FIELDS) == ["nvidia-smi", "--query-gpu=index,name,serial", "--format=csv,noheader"]
    assert nvidia_smi.fields_argv(FIELDS, units=False)[-1] == "--format=csv,noheader,nounits"
    assert nvidia_smi.parse_row("0, NVIDIA H100, [N/A]", FIELDS) == {"index": "0", "name": "NVIDIA H100", "serial": "[N/A]"}
    assert [nvidia_smi.reported(cell) for cell in ("1", "[N/A]", "N/A", "[Not Supported]")] == ["1", "", "", ""]


@pytest.mark.parametrize(("line", "lost"), [("No devices were found", True), ("0, NVIDIA H100", False), ("", False)])
def test_a_line_that_is_no_row(line: str, lost: bool) -> None:
    with pytest.raises(UnreadableGpuError, match="not a row of a GPU") as raised:
        nvidia_smi.parse_row(line, FIELDS)
    assert raised.value.lost is lost


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("Unable to determine the device handle for GPU1: 0000:02:00.0: Unknown Error", "00000000:02:00.0"),
        ("Unable to determine the device handle for GPU0000:01:00.0: Unknown Error", "00000000:01:00.0"),
        (
            "Unable to determine the device handle for GPU 00010000:9c:00.0: GPU is lost.  Reboot the system to recover this GPU",
            "00010000:9C:00.0",
        ),
        ("No devices were found", ""),
        ("nvidia-smi exit 9: 0000:02:00.0 is busy", ""),
    ],
)
def test_the_gpu_that_is_lost_has_the_name_that_its_counters_had(line: str, address: str) -> None:
    assert nvidia_smi.unreadable(line).address == address


def test_every_recorded_form_of_a_lost_gpu_names_it() -> None:
    lines = recorded("nvidia-smi/lost-gpu-stderr-variants.txt").read_text().splitlines()
    assert [nvidia_smi.unreadable(line).address for line in lines] == ["00000000:02:00.0", "00000000:01:00.0", ""]
    assert all(nvidia_smi.unreadable(line).lost for line in lines)


def test_a_gpu_that_is_lost_shows_it_in_place_of_its_values() -> None:
    """As nvidia-smi 580.65.06 does (NVIDIA/k8s-test-infra 3b2b865d, qx-gb200-lost.xml): the model, modes and limits stay as they were."""
    first, second, rest = smi_xml().split("</gpu>", 2)
    second = re.sub("<(total|used|dram_uncorrectable|gpu_temp|state)>[^<]*<", r"<\1>GPU is lost<", second)
    second = re.sub("<remapped_rows>.*</remapped_rows>", "<remapped_rows>GPU is lost</remapped_rows>", second, flags=re.DOTALL)
    text = f"{first}</gpu>{second}</gpu>{rest}"
    for read in (nvidia_smi.parse_query, nvidia_smi.gpu_counters):
        with pytest.raises(UnreadableGpuError, match="'GPU is lost' in place of values of GPU 1 at ") as raised:
            read(text)
        assert raised.value.lost
        assert raised.value.address == nvidia_smi.parse_query(smi_xml()).gpus[1].bus_id
