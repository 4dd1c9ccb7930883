"""Tools whose output is read in a line or two."""

from __future__ import annotations

import pytest

from clusterctl_tools import apt, dkms, dnf, ibv_devinfo, infiniband_diags, lspci, mlnx_tools, modinfo, package_list, setpci, systemctl
from clusterctl_tools.dkms import DkmsModule
from support.checks import modinfo_text

# Of apt 2.6.1; it writes about an unknown package on stderr, and goes on.
POLICY = """nvidia-open:
  Installed: 580.126.20-1ubuntu1
  Candidate: 580.126.20-1ubuntu1
  Version table:
 *** 580.126.20-1ubuntu1 500
        500 file:/mirror ./ Packages
        100 /var/lib/dpkg/status
mft:
  Installed: (none)
  Candidate: (none)
  Version table:
rdma-core:
  Installed: 2510.0.11-1
  Package pin: 2510.0.11-1
  Candidate: 2510.0.11-1
  Version table:
"""
DKMS = """Deprecated feature: REMAKE_INITRD
nvidia/580.126.20, 6.8.0-1046-nvidia, x86_64: installed
nvidia/570.86.15: added
mlnx-ofed-kernel, 25.10, 6.8.0-60-generic, x86_64: built (WARNING! Diff between built and installed module!)
"""
BRIDGES = """0000:17:01.0 PCI bridge: Broadcom (rev b0)
	Capabilities: [148 v1] Access Control Services
		ACSCap:	SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir-
0000:17:02.0 PCI bridge: Broadcom (rev b0)
	Capabilities: [40] Power Management version 3
"""


def test_the_candidate_of_apt() -> None:
    assert apt.policy_argv(["nvidia-open", "mft"]) == ["apt-cache", "policy", "nvidia-open", "mft"]
    assert apt.parse_candidates(POLICY) == {"nvidia-open": "580.126.20-1ubuntu1", "mft": "(none)", "rdma-core": "2510.0.11-1"}
    assert apt.parse_candidates("N: Unable to locate package\n") == {}


def test_settings_of_apt() -> None:
    text = 'APT::Periodic "";\nAPT::Periodic::Enable "0";\nAPT::Periodic::Unattended-Upgrade "1";\n'
    assert apt.parse_settings(text) == {"APT::Periodic": "", "APT::Periodic::Enable": "0", "APT::Periodic::Unattended-Upgrade": "1"}


def test_streams_and_excludes_of_dnf() -> None:
    assert dnf.parse_streams("Name Stream Profiles\nnvidia-driver 580-open [e] default [d]\n", "nvidia-driver") == ["580-open"]
    assert dnf.parse_streams("", "nvidia-driver") == []
    assert dnf.parse_excludes("[baseos]\nexcludepkgs = rdma-core*, ucx*\n") == "rdma-core*,ucx*"
    assert (dnf.parse_excludes("excludepkgs =\n"), dnf.parse_excludes("Error: no matching repo")) == ("", None)


def test_rows_of_dkms() -> None:
    assert dkms.parse_status(DKMS) == [
        DkmsModule("nvidia", "580.126.20", "6.8.0-1046-nvidia", "installed"),
        DkmsModule("nvidia", "570.86.15", "", "added"),
        DkmsModule("mlnx-ofed-kernel", "25.10", "6.8.0-60-generic", "built", differs=True),
    ]


def test_a_module_that_differs_from_what_dkms_built() -> None:
    """Of Ubuntu 24.04 with nvidia 535: one warning for each of its modules (ubuntuforums, `dkms status` of 2024-06-03)."""
    warning = " (WARNING! Diff between built and installed module!)"
    text = f"nvidia/535.154.05, 6.8.0-31-generic, x86_64: installed{warning * 5}\nzfs/2.2.2, 6.8.0-31-generic, x86_64: installed\n"
    assert [(m.state, m.differs) for m in dkms.parse_status(text)] == [("installed", True), ("installed", False)]


def test_the_release_of_a_module() -> None:
    assert modinfo.fields_argv("mlx5_core") == ["modinfo", "mlx5_core"]
    fields = modinfo.parse_fields(modinfo_text(filename="/a: b.ko", version="25.10-1.7.1", license="GPL", signer="", vermagic="6.8.0 SMP "))
    wanted = {"filename": "/a: b.ko", "version": "25.10-1.7.1", "license": "GPL", "signer": "", "vermagic": "6.8.0 SMP"}
    assert {name: fields[name] for name in wanted} == wanted
    assert modinfo.parse_fields("modinfo: ERROR: Module nvidia not found.\n").get("version") is None
    assert modinfo.release_of("6.8.0-1046-nvidia SMP preempt mod_unload modversions\n") == "6.8.0-1046-nvidia"
    assert modinfo.release_of("\n") == ""


def test_a_control_field_of_a_package() -> None:
    assert package_list.field_argv("Clusterctl-Commit", "perftest") == ["dpkg-query", "-W", "-f", "${Clusterctl-Commit}", "perftest"]


@pytest.mark.parametrize(("text", "ordering", "size"), [("2950\n", True, 512), ("0000", False, 128), ("5936", True, 4096)])
def test_the_device_control_register(text: str, ordering: bool, size: int) -> None:
    assert setpci.parse_device_control(text) == setpci.DeviceControl(ordering, size)


@pytest.mark.parametrize("text", ["", "ffff", "29", "setpci: cannot open", "2950 2950"])
def test_no_register(text: str) -> None:
    with pytest.raises(setpci.UnreadableRegisterError):
        setpci.parse_device_control(text)


def test_bridges_with_access_control_services() -> None:
    assert lspci.parse_acs(BRIDGES) == {"0000:17:01.0": ("SrcValid+", "TransBlk-", "ReqRedir+", "CmpltRedir-")}
    assert lspci.parse_acs("") == {}
    with pytest.raises(lspci.UnreadableBridgesError):
        lspci.parse_acs("0000:17:01.0 PCI bridge\n\tCapabilities: <access denied>\n")


def test_ports_of_an_rdma_device() -> None:
    assert ibv_devinfo.parse_active_mtu("\tmax_mtu:\t4096 (5)\n\t\tactive_mtu:\t\t1024 (3)\n") == "1024"
    assert ibv_devinfo.parse_active_mtu("No IB devices found\n") is None
    # The script prints why it fails to its output, too (mlnx-tools, sbin/cma_roce_tos).
    texts = ("106\n", "tos: 106", "failed", "Failed to create configuration for mlx5_0\n", "Device mlx5_0 port 1 does not exist\n")
    assert [mlnx_tools.parse_tos(t) for t in texts] == ["106", "106", None, None, None]
    assert [mlnx_tools.parse_mode(t) for t in ("RoCE v2\n", "IB/RoCE v1", "")] == ["2", "1", None]


def test_direct_routes_and_the_subnet_manager() -> None:
    assert infiniband_diags.links_argv("mlx5_0", 1, "0") == ["iblinkinfo", "-l", "-C", "mlx5_0", "-P", "1", "-D", "0"]
    assert infiniband_diags.links_argv("mlx5_0", 1, "0,1", hops=0)[-2:] == ["-n", "0"]
    text = "sminfo: sm lid 1 sm guid 0x946dae0300a51f48, activity count 99 priority 14 state 3 SMINFO_MASTER\n"
    assert infiniband_diags.parse_manager(text) == "SMINFO_MASTER"
    assert infiniband_diags.parse_manager("sminfo: iberror: failed: query\n") == ""


def test_states_of_units_come_in_the_order_of_their_names() -> None:
    assert systemctl.states_argv(["a.service"]) == ["systemctl", "show", "-p", "Id,LoadState,ActiveState,UnitFileState", "--", "a.service"]
    assert systemctl.show_argv(["DefaultLimitCORE"]) == ["systemctl", "show", "-p", "DefaultLimitCORE"]
    text = "Id=a.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n\nId=b.service\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
    units = systemctl.parse_units(["a.service", "b.service"], text)
    assert [(u.active, u.enabled, u.load_state) for u in units.values()] == [(True, True, "loaded"), (False, False, "not-found")]
    with pytest.raises(systemctl.UnreadableUnitsError):
        systemctl.parse_units(["a.service"], text)
