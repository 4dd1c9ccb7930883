"""Health agents that a site may require: gpud and NVSentinel.

Sources: leptonai/gpud, docs/INTEGRATION.md (unit, port and path); NVIDIA/NVSentinel, platform-connectors and health monitors (socket).
"""

from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

GPUD_UNIT = "gpud.service"
GPUD_HEALTH = "https://localhost:15132/healthz"
SOCKETS = ("/run/nvsentinel.sock", "/run/nvsentinel/nvsentinel.sock")
TIMEOUT_S = 10
# gpud signs its certificate itself; the request does not leave the machine.
FETCH = (
    "import ssl, sys, urllib.request as u; c = ssl._create_unverified_context(); "
    "o = u.build_opener(u.ProxyHandler({}), u.HTTPSHandler(context=c)); print(o.open(sys.argv[1], timeout=float(sys.argv[2])).status)"
)
CONNECT = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(float(sys.argv[2])); s.connect(sys.argv[1]); print('connected')"
)
_DEPLOY = "deploy the agent as the site does; monitoring_health_agent requires it"


def check_gpud(record: Record, probe: Probe) -> None:
    """Gpud runs as a service, also after a boot, and is healthy itself."""
    unit = probe.units([GPUD_UNIT])[GPUD_UNIT]
    record.equal("monitoring.health_agent.running", "active", unit.active_state, hint=_DEPLOY)
    record.equal("monitoring.health_agent.persisted", "enabled", unit.file_state, hint="systemctl enable " + GPUD_UNIT)
    hint = "systemctl status {0}; journalctl -b -u {0}".format(GPUD_UNIT)
    _answer(record, probe, [FETCH, GPUD_HEALTH], "200", hint)


def check_nvsentinel(record: Record, probe: Probe) -> None:
    """A health monitor on the node can reach NVSentinel's platform connector."""
    found = [path for path in SOCKETS if probe.glob(path)]
    if not found:
        record.ok("monitoring.health_agent.running", False, expected="a socket", found="neither " + " nor ".join(SOCKETS), hint=_DEPLOY)
        return
    record.ok("monitoring.health_agent.running", True, expected="a socket", found=found[0])
    _answer(record, probe, [CONNECT, found[0]], "connected", "kubectl get pods -A --field-selector spec.nodeName=NODE: platform-connectors")


def _answer(record: Record, probe: Probe, program: "list[str]", expected: str, hint: str) -> None:
    check = "monitoring.health_agent.answers"
    result = probe.run(["python3", "-I", "-c", *program, str(TIMEOUT_S)], timeout_s=TIMEOUT_S + 5)
    if result.error:
        record.could_not_run(check, result.error)
        return
    found = result.stdout.strip() or (result.stderr.strip().splitlines() or ["no answer"])[-1]
    record.equal(check, expected, found, hint=hint)
