from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import imex, imex_tls
from clusterctl_validators import test_nvlink_domain as module
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity
from clusterctl_validators.probe import CommandResult
from support.checks import run_checks, write_files
from support.gpu_node import QUERY, edit_gpu, systemctl, unit, without_gpus
from support.recorded import recorded
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

MEMBERS = [f"10.0.0.{n}" for n in range(1, 19)]
UNIT = systemctl(module.UNIT)
DOMAIN, STATUS, ADDRESSES = " ".join(module.DOMAIN), " ".join(module.STATUS), " ".join(module.ADDRESSES)
SETTINGS = load_role(ROOT / "roles" / "nvlink_domain").defaults["nvlink_domain_imex_settings"]
CONFIG = "# Written by clusterctl\n" + "".join(f"{k}={v}\n" for k, v in SETTINGS.items()) + f"IMEX_NODE_CONFIG_FILE={module.NODES_FILE}\n"
FILES = {
    module.NODES_FILE: "\n".join(MEMBERS) + "\n",
    module.CONFIG_FILE: CONFIG,
    "/proc/driver/nvidia/params": "ImexChannelCount: 2048\nCreateImexChannel0: 1\n",
    "/etc/modprobe.d/zz-clusterctl-nvidia.conf": "options nvidia NVreg_ImexChannelCount=2048 NVreg_CreateImexChannel0=1\n",
    module.CHANNEL0: "",
}


def spec(**changes: Any) -> dict[str, Any]:
    defaults = load_role(ROOT / "roles" / "nvlink_domain").defaults
    return {**defaults, "nvlink_domain_members": MEMBERS, "nvlink_domain_imex_channel0": True, "nvlink_domain_ready_min": 16, **changes}


def domain(status: str = "UP", down: tuple[int, ...] = (), apart: tuple[tuple[int, int], ...] = ()) -> str:
    """Output of `nvidia-imex-ctl -N -j`; members in `down` are off, pairs in `apart` never connected."""
    nodes = {}
    for i, address in enumerate(MEMBERS):
        met = {str(j): {"host": other, "status": _met(i, j, down, apart), "changed": True} for j, other in enumerate(MEMBERS)}
        nodes[str(i)] = {"status": "UNAVAILABLE" if i in down else "READY", "host": address, "version": "580.126.20", "connections": met}
    return json.dumps({"nodes": nodes, "timestamp": "9/4/2026 00:00:00.000", "status": status})


def _met(i: int, j: int, down: tuple[int, ...], apart: tuple[tuple[int, int], ...]) -> str:
    if i in down:
        return "INVALID"
    return "NEVER_CONNECTED" if j in down or (i, j) in apart else "CONNECTED"


def check(
    root: Path,
    outputs: dict[str, CommandResult | str] | None = None,
    *,
    variables: dict[str, Any] | None = None,
    files: dict[str, str | None] | None = None,
) -> dict[str, Finding]:
    """Findings of a GB300 tray that differs from the declared state by `outputs` and `files`; None removes a file."""
    commands: dict[str, CommandResult | str] = {
        QUERY: recorded("nvidia-smi/qx-hardware/qx-gb300.xml").read_text(),
        UNIT: unit(),
        STATUS: "READY\n",
        DOMAIN: domain(),
        ADDRESSES: "10.0.0.3 192.168.7.3 fe80::1 \n",
        **{f"stat -c %U %a {path}": "root 644\n" for path in FILES},
    }
    present = {path: text for path, text in {**FILES, **(files or {})}.items() if text is not None}
    return run_checks(module, variables or spec(), write_files(root, present), {**commands, **(outputs or {})})


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {k.removeprefix("nvlink_domain."): f.found or f.reason for k, f in findings.items() if f.outcome not in GOOD}


def test_a_tray_as_declared_passes(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert len([f for f in findings.values() if f.outcome is Outcome.PASS]) > 25
    assert findings["nvlink_domain.cluster_uuid"].found == "00000001-0000-0000-0000-000000000001"
    assert findings["nvlink_domain.clique_id"].found == "32766"


def test_a_recorded_fabric_that_is_degraded_is_found(tmp_path: Path) -> None:
    text = recorded("_synthetic-by-source/qx-gb200-fabric-degraded.xml").read_text()
    found = bad(check(tmp_path, {QUERY: text}))
    assert found["gpu[1].fabric.health"] == "Unhealthy"
    assert found["gpus"] == "2"


def test_a_node_without_a_domain_has_a_zero_uuid(tmp_path: Path) -> None:
    h200 = recorded("nvidia-smi/sparecores/gcp-a3-ultragpu-8g.xml").read_text()
    found = bad(check(tmp_path, {QUERY: h200}, variables=spec(nvlink_domain_gpus=8)))
    assert found["cluster_uuid"] == module.NO_DOMAIN


def gb300(index: int, **edits: str) -> str:
    return edit_gpu(
        recorded("nvidia-smi/qx-hardware/qx-gb300.xml").read_text(),
        index,
        {f"<{k}>{v.split()[0]}<": f"<{k}>{v.split()[1]}<" for k, v in edits.items()},
    )


@pytest.mark.parametrize(
    ("edits", "found"),
    [
        ({"state": "Completed NotStarted"}, {"gpu[2].fabric.state": "NotStarted/Success"}),
        ({"summary": "Healthy Unhealthy"}, {"gpu[2].fabric.health": "Unhealthy"}),
        ({"cliqueId": "32766 1"}, {"clique_id": "1, 32766"}),
        (
            {"clusterUuid": "00000001-0000-0000-0000-000000000001 00000002-0000-0000-0000-000000000001"},
            {"cluster_uuid": "00000001-0000-0000-0000-000000000001, 00000002-0000-0000-0000-000000000001"},
        ),
        ({"clusterUuid": "00000001-0000-0000-0000-000000000001 N/A"}, {"cluster_uuid": "00000001-0000-0000-0000-000000000001, N/A"}),
    ],
)
def test_one_gpu_with_a_different_fabric_is_found(tmp_path: Path, edits: dict[str, str], found: dict[str, str]) -> None:
    assert bad(check(tmp_path, {QUERY: gb300(2, **edits)})) == found


def test_a_driver_that_prints_only_the_health_of_the_fabric_is_judged_by_it(tmp_path: Path) -> None:
    """The manual of R610 deprecates state and status."""
    bare = edit_gpu(gb300(2), 2, {"<state>Completed</state>": "", "<status>Success</status>": ""})
    findings = check(tmp_path, {QUERY: bare})
    assert bad(findings) == {}
    assert findings["nvlink_domain.gpu[2].fabric.state"].outcome is Outcome.NOT_APPLICABLE
    down = edit_gpu(bare, 2, {"<summary>Healthy<": "<summary>N/A<"})
    assert set(bad(check(tmp_path, {QUERY: down}))) == {"gpu[2].fabric.state", "gpu[2].fabric.health"}


@pytest.mark.parametrize(("state", "why"), [("In Progress", "before it is up"), ("Completed", "this driver does not report it")])
def test_missing_health_is_not_a_pass_and_has_a_reason(tmp_path: Path, state: str, why: str) -> None:
    text = edit_gpu(gb300(2), 2, {"<summary>Healthy<": "<summary>N/A<", "<state>Completed<": f"<state>{state}<"})
    health = check(tmp_path, {QUERY: text})["nvlink_domain.gpu[2].fabric.health"]
    assert health.outcome is Outcome.COULD_NOT_RUN
    assert why in health.reason


def test_pinned_identity_is_compared(tmp_path: Path) -> None:
    right = spec(nvlink_domain_cluster_uuid="00000001-0000-0000-0000-000000000001", nvlink_domain_clique_id="32766")
    assert bad(check(tmp_path, variables=right)) == {}
    wrong = spec(nvlink_domain_cluster_uuid="00000009-0000-0000-0000-000000000001", nvlink_domain_clique_id="0")
    assert set(bad(check(tmp_path, variables=wrong))) == {"cluster_uuid", "clique_id"}


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ({QUERY: CommandResult(9, stderr="NVIDIA-SMI has failed")}, {"gpus", "fabric", "cluster_uuid"}),
        ({UNIT: unit("failed", "enabled")}, {"imex.service.running"}),
        ({UNIT: unit("active", "disabled")}, {"imex.service.persisted"}),
        ({STATUS: "INITIALIZING\n"}, {"imex.daemon"}),
        ({STATUS: CommandResult(None, error="nvidia-imex-ctl: No such file or directory")}, {"imex.daemon"}),
        ({DOMAIN: CommandResult(1, stderr="connect failed")}, {"imex.domain"}),
        ({DOMAIN: domain("DEGRADED", down=(7,))}, {"imex.complete"}),
        ({DOMAIN: domain("DEGRADED", down=(7, 8))}, {"imex.complete"}),
        ({DOMAIN: domain("DEGRADED", down=(7, 8, 9))}, {"imex.complete", "imex.members_ready"}),
        ({DOMAIN: domain("DEGRADED", apart=((2, 9),))}, {"imex.connections"}),
        ({DOMAIN: domain("DEGRADED", apart=((4, 9),))}, set()),
        ({ADDRESSES: "192.168.7.3\n"}, {"imex.connections"}),
    ],
)
def test_state_of_imex(tmp_path: Path, outputs: dict[str, CommandResult | str], found: set[str]) -> None:
    assert set(bad(check(tmp_path, outputs))) == found


def test_a_missing_tray_degrades_the_rack_and_not_the_other_trays(tmp_path: Path) -> None:
    findings = check(tmp_path, {DOMAIN: domain("DEGRADED", down=(7,))})
    degraded = findings["nvlink_domain.imex.complete"]
    assert (degraded.outcome, degraded.severity) == (Outcome.FAIL, Severity.MINOR)
    assert degraded.found.startswith("17 of 18, DEGRADED: ")
    assert findings["nvlink_domain.imex.members_ready"].outcome is Outcome.PASS


def test_a_site_may_need_every_tray(tmp_path: Path) -> None:
    findings = check(tmp_path, {DOMAIN: domain("DEGRADED", down=(7,))}, variables=spec(nvlink_domain_ready_min=18))
    needed = findings["nvlink_domain.imex.members_ready"]
    assert (needed.outcome, needed.severity) == (Outcome.FAIL, Severity.CRITICAL)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({module.NODES_FILE: "\n".join(reversed(MEMBERS))}, {"imex.nodes.persisted"}),
        ({module.NODES_FILE: None}, {"imex.nodes.persisted"}),
        ({module.CONFIG_FILE: CONFIG.replace("SERVER_PORT=50000", "SERVER_PORT=50001")}, {"imex.setting[SERVER_PORT].persisted"}),
        ({module.CONFIG_FILE: CONFIG + "LOG_LEVEL=0\n"}, {"imex.other_settings.persisted"}),
        ({"/etc/modprobe.d/zz-clusterctl-nvidia.conf": None}, {"parameter[NVreg_CreateImexChannel0].persisted"}),
        # OCI's image of GB200 has it with 1, as declared here; read before the role's file, another value would not count either.
        ({"/etc/modprobe.d/nvidia.conf": "options nvidia NVreg_CreateImexChannel0=0\n"}, set()),
        (
            {"/usr/lib/modprobe.d/zzz.conf": "options nvidia NVreg_CreateImexChannel0=0\n"},
            {"parameter[NVreg_CreateImexChannel0].persisted"},
        ),
        (
            {"/proc/driver/nvidia/params": "ImexChannelCount: 512\nCreateImexChannel0: 1\n"},
            {"parameter[NVreg_ImexChannelCount].running"},
        ),
        (
            {"/proc/driver/nvidia/params": None},
            {"parameter[NVreg_ImexChannelCount].running", "parameter[NVreg_CreateImexChannel0].running"},
        ),
        ({module.CHANNEL0: None}, {"channel0"}),
    ],
)
def test_state_after_a_boot(tmp_path: Path, files: dict[str, str | None], found: set[str]) -> None:
    assert set(bad(check(tmp_path, files=files))) == found


def test_no_declared_member_never_passes(tmp_path: Path) -> None:
    found = bad(check(tmp_path, variables=spec(nvlink_domain_members=[]), files={module.NODES_FILE: ""}))
    assert set(found) == {"imex.nodes.persisted", "imex.nodes.running"}


PER_JOB = spec(nvlink_domain_imex=False, nvlink_domain_members=[])
A_JOB = "<processes>\n<process_info><pid>4711</pid><type>C</type></process_info>"
A_SCREEN = A_JOB.replace(">C<", ">G<")


@pytest.mark.parametrize(
    ("active", "file", "processes", "found"),
    [
        ("inactive", "disabled", "", {}),
        ("inactive", "masked", "", {}),
        ("failed", "disabled", "", {}),
        ("inactive", "enabled", "", {"imex.service.persisted": "enabled"}),
        ("inactive", "enabled-runtime", "", {"imex.service.persisted": "enabled-runtime"}),
        ("active", "disabled", "", {"imex.service.running": "active"}),
        ("activating", "disabled", A_SCREEN, {"imex.service.running": "activating"}),
        ("active", "disabled", A_JOB, {}),
        ("active", "enabled", A_JOB, {"imex.service.persisted": "enabled"}),
    ],
)
def test_imex_of_the_scheduler_is_off_at_boot_and_between_jobs(
    tmp_path: Path, active: str, file: str, processes: str, found: dict[str, str]
) -> None:
    smi = recorded("nvidia-smi/qx-hardware/qx-gb300.xml").read_text()
    text = edit_gpu(smi, 1, {"<processes>": processes}) if processes else smi
    findings = check(tmp_path, {UNIT: unit(active, file), QUERY: text}, variables=PER_JOB, files={module.NODES_FILE: None})
    assert bad(findings) == found
    running = findings["nvlink_domain.imex.service.running"].outcome
    assert (running is Outcome.NOT_APPLICABLE) == (active == "active" and processes == A_JOB)


def test_running_imex_without_knowledge_of_jobs_is_not_a_pass(tmp_path: Path) -> None:
    findings = check(tmp_path, {UNIT: unit("active", "disabled"), QUERY: CommandResult(9, stderr="failed")}, variables=PER_JOB)
    assert findings["nvlink_domain.imex.service.running"].outcome is Outcome.COULD_NOT_RUN


def test_the_fabric_is_checked_however_imex_is_started(tmp_path: Path) -> None:
    text = gb300(2, state="Completed NotStarted", cliqueId="32766 1")
    found = bad(check(tmp_path, {UNIT: unit("inactive", "disabled"), QUERY: text}, variables=PER_JOB, files={module.NODES_FILE: None}))
    assert found == {"gpu[2].fabric.state": "NotStarted/Success", "clique_id": "1, 32766"}


def test_a_missing_gpu_is_counted(tmp_path: Path) -> None:
    text = without_gpus(recorded("nvidia-smi/qx-hardware/qx-gb300.xml").read_text(), 3)
    assert bad(check(tmp_path, {QUERY: text}))["gpus"] == "3"


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"nodes": []}', '{"nodes": {}, "status": "UP"}', '{"nodes": {"0": {}}, "status": "UP"}', "error: x"]
)
def test_no_state_of_a_domain_is_an_error(text: str) -> None:
    with pytest.raises(imex.UnreadableImexError):
        imex.parse_domain(text)


TLS = {"certificate": "c.pem", "key": "k.pem", "authority": "a.pem", "target_name": "imex.example.net"}
END = "openssl x509 -noout -enddate -in "
ENDS = "openssl x509 -noout -checkend {} -in {}"
EXPIRES = CommandResult(1, "Certificate will expire\n")
PUBLIC, OF_KEY = f"openssl x509 -noout -pubkey -in {imex_tls.CERTIFICATE}", f"openssl pkey -pubout -in {imex_tls.KEY}"
CHAIN = f"openssl verify -CAfile {imex_tls.AUTHORITY} {imex_tls.CERTIFICATE}"
MONTH_S = imex_tls.WARN_DAYS * 86400
ENCRYPTED: dict[str, CommandResult | str] = {
    f"stat -c %U %a {imex_tls.KEY}": "root 600\n",
    f"stat -c %U %a {imex_tls.CERTIFICATE}": "root 644\n",
    f"stat -c %U %a {imex_tls.AUTHORITY}": "root 644\n",
    **{END + path: "notAfter=Nov 22 21:00:00 2027 GMT\n" for path in (imex_tls.CERTIFICATE, imex_tls.AUTHORITY)},
    **{ENDS.format(s, path): "Certificate will not expire\n" for s in (0, MONTH_S) for path in (imex_tls.CERTIFICATE, imex_tls.AUTHORITY)},
    PUBLIC: "-----BEGIN PUBLIC KEY-----\nMIIB\n",
    OF_KEY: "-----BEGIN PUBLIC KEY-----\nMIIB\n",
    CHAIN: f"{imex_tls.CERTIFICATE}: OK\n",
}
LINES = "".join(f"{k}={v}\n" for k, v in imex_tls.settings("imex.example.net").items())


def encrypted(root: Path, outputs: dict[str, CommandResult | str] | None = None, lines: str = LINES) -> dict[str, str]:
    """What is bad on a tray that should encrypt."""
    files: dict[str, str | None] = {module.CONFIG_FILE: CONFIG + lines, imex_tls.KEY: ""}
    return bad(check(root, {**ENCRYPTED, **(outputs or {})}, variables=spec(nvlink_domain_imex_tls=TLS), files=files))


def test_an_encrypted_domain_passes(tmp_path: Path) -> None:
    assert encrypted(tmp_path) == {}


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ({f"stat -c %U %a {imex_tls.KEY}": "root 644\n"}, {"key.mode": "root 644"}),
        ({f"stat -c %U %a {imex_tls.KEY}": CommandResult(1)}, {"key.mode": "absent"}),
        ({ENDS.format(MONTH_S, imex_tls.CERTIFICATE): EXPIRES}, {"certificate.renewal": "until Nov 22 21:00:00 2027 GMT"}),
        (
            {ENDS.format(s, imex_tls.AUTHORITY): EXPIRES for s in (0, MONTH_S)},
            {"authority.valid": "until Nov 22 21:00:00 2027 GMT", "authority.renewal": "until Nov 22 21:00:00 2027 GMT"},
        ),
        ({ENDS.format(0, imex_tls.CERTIFICATE): CommandResult(None, error="timed out")}, {"certificate.valid": "timed out"}),
        ({ENDS.format(MONTH_S, imex_tls.AUTHORITY): CommandResult(1, stderr="no memory\n")}, {"authority.renewal": "no memory"}),
        ({END + imex_tls.CERTIFICATE: CommandResult(1, stderr="Could not open file")}, {"certificate.valid": "Could not open file"}),
        ({END + imex_tls.CERTIFICATE: CommandResult(None, error="openssl not found")}, {"certificate.valid": "openssl not found"}),
        ({OF_KEY: "-----BEGIN PUBLIC KEY-----\nMIIC\n"}, {"pair": "the key of another certificate"}),
        ({OF_KEY: CommandResult(1, stderr="unable to load key")}, {"pair": "unable to load key"}),
        (
            {
                CHAIN: CommandResult(
                    2, stderr="CN = x\nerror 20 at 0 depth lookup: unable to get local issuer certificate\nverification failed\n"
                )
            },
            {"chain": "error 20 at 0 depth lookup: unable to get local issuer certificate"},
        ),
        ({CHAIN: CommandResult(None, error="timed out")}, {"chain": "timed out"}),
    ],
)
def test_key_and_certificates(outputs: dict[str, CommandResult | str], found: dict[str, str], tmp_path: Path) -> None:
    assert encrypted(tmp_path, outputs) == {f"imex.tls.{name}": words for name, words in found.items()}


def test_a_tray_that_does_not_encrypt_as_declared_is_found(tmp_path: Path) -> None:
    faults = encrypted(tmp_path, lines="")
    assert faults["imex.setting[IMEX_ENABLE_AUTH_ENCRYPTION].persisted"] == "absent"
    assert len(faults) == len(imex_tls.settings(""))


def test_left_keys_are_found(tmp_path: Path) -> None:
    assert bad(check(tmp_path, files={imex_tls.KEY: "x"})) == {"imex.tls.persisted": "present"}
