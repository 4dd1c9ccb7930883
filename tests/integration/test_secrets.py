"""No artefact of a run contains a secret that was given to clusterctl: commands as they are typed, on a node with sudo, a BMC, ansible-vault and PostgreSQL.

The demo flow searches for a BMC password on lab nodes, too (tests/e2e/test_demo_flow.py).
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from sqlalchemy import make_url

from clusterctl.model.exit_codes import ExitCode
from support.container_node import ContainerNode
from support.doc_blocks import blocks_of
from support.postgres import binaries, server
from support.redfish_bmc import PASSWORD, USER, Bmc
from support.redfish_tree import invented
from support.roles import ROOT
from support.secret_search import Secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLS = binaries()
SUDO, WRONG_SUDO, WRONG_BMC = "planted-sudo 'Q7'/1", "planted-wrong-sudo-88", "planted-wrong-bmc-31"
TOKEN, VAULT, POSTGRES, VARIABLE = "planted-token-5d/21", "planted-vault-password-64", "planted/pg@word+7", "planted-environment-90"
TYPED = "planted-typed 'word'/77"
SECRETS = Secrets(
    {
        "become password": SUDO,
        "wrong become password": WRONG_SUDO,
        "BMC password": PASSWORD,
        "wrong BMC password": WRONG_BMC,
        "vaulted variable": TOKEN,
        "vault password": VAULT,
        "database password": POSTGRES,
        "environment variable": VARIABLE,
        "variable of the command line": TYPED,
    }
)
# a lookup is how sites read secrets from the environment
VARIABLES = """node_roles: [bios, marker]
bios_attributes: {dell: [{name: LogicalProc, value: Enabled}]}
marker_environment: "{{ lookup('env', 'PLANTED_API_KEY') }}"
gates_levels: {quick: [memory_copy], standard: [memory_copy], full: [memory_copy]}
gates_settings: {memory_copy: {size_mib: 16}}
gates_baselines: [{gate: memory_copy, metric: bandwidth, kind: floor, value: 0.001, unit: GB/s, source: of this test, date: "2026-05"}]
"""
ROLE = {
    "roles/marker/meta/argument_specs.yml": """argument_specs:
  main:
    short_description: A file.
    options:
      marker_token: {type: str, required: true, no_log: true, description: A secret.}
      marker_environment: {type: str, default: "", no_log: true, description: Another.}
""",
    "roles/marker/tasks/main.yml": """- name: Write the marker
  ansible.builtin.copy: {content: "{{ marker_token }} {{ marker_environment }}", dest: /etc/marker, mode: "0600"}
  no_log: true
- name: Show secrets under the names that secrets have
  ansible.builtin.debug:
    msg: {bmc_password: "{{ bmc_password }}", marker_token: "{{ marker_token }}", api_key: "{{ marker_environment }}"}
- name: Fail with a secret in the message
  ansible.builtin.fail: {msg: "login with {{ bmc_password }} and {{ marker_token }} failed"}
  no_log: true
  ignore_errors: true
""",
    "validators/test_marker.py": """ROLE = "marker"


def test_marker(host, record):
    record.equal("marker.mode", 0o600, host.file("/etc/marker").mode if host.file("/etc/marker").exists else 0, hint="provision")
""",
}


@dataclass
class Site:
    """A site folder, its one node, the BMC of that node, and clusterctl in processes of its own."""

    folder: Path
    node: ContainerNode
    bmc: Bmc
    database_url: str
    outputs: dict[str, str] = field(default_factory=dict)

    def write(self) -> None:
        """The layer `wrong` has passwords that neither sudo nor the BMC accepts."""
        for name in ("home", "tmp", "written", "site/roles", "site/validators"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "vault-password").write_text(VAULT)
        url = make_url(self.database_url)
        if TOOLS:
            url = url.set(password=POSTGRES)
        config = {"state_dir": "state", "operator": "ada", "gates": ["memory_gate"], "inventory": ["machine", "inventory"]}
        self._file("clusterctl.yml", json.dumps({**config, "database_url": url.render_as_string(hide_password=False)}))
        self.node.write_site(self.folder / "site" / "machine", ansible_user="ops", ansible_become="true")
        access = {"bmc_url": self.bmc.url, "bmc_ca_file": str(self.bmc.ca_file), "bmc_user": USER}
        self._file("inventory/group_vars/all.yml", VARIABLES)
        self._file("inventory/host_vars/v1-n01/bmc.json", json.dumps(access))
        right = {"ansible_become_password": SUDO, "bmc_password": PASSWORD, "marker_token": TOKEN}
        wrong = {"ansible_become_password": WRONG_SUDO, "bmc_password": WRONG_BMC}
        for layer, secrets in (("inventory", right), ("wrong", wrong)):
            self._file(f"{layer}/hosts.yml", "all: {hosts: {v1-n01: {}}}")
            self._file(f"{layer}/host_vars/v1-n01/secrets.yml", "".join(self._vaulted(k, v) for k, v in secrets.items()))
        gate = next(
            b for b in blocks_of(ROOT / "docs" / "how-to" / "own-role-validator-gate-pool.md") if b.file == "plugins/memory_gate.py"
        )
        self._file("plugins/memory_gate.py", gate.text)
        for name, text in ROLE.items():
            self._file(name, text)

    def _file(self, name: str, text: str) -> None:
        path = self.folder / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _vaulted(self, name: str, value: str) -> str:
        done = self._run([sys.executable, "-m", "ansible", "vault", "encrypt_string", value, "--name", name])
        assert done.returncode == 0, done.stderr
        return done.stdout + "\n"

    def clusterctl(self, *words: str, **environment: str) -> tuple[int, str, str]:
        """Run it; what it prints is kept."""
        done = self._run([sys.executable, "-m", "clusterctl", *words], **environment)
        self.outputs[f"{len(self.outputs)}: clusterctl {' '.join(words)}"] = done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    def _run(self, argv: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        own = {
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "ANSIBLE_VAULT_PASSWORD_FILE": str(self.folder / "vault-password"),
            "PLANTED_API_KEY": VARIABLE,
            "CLUSTERCTL_PASS_ENV": "PLANTED_API_KEY",
        }
        where = self.folder / "site"
        more = {**os.environ, **own, **environment}
        return subprocess.run(argv, env=more, cwd=where, capture_output=True, text=True, timeout=300, check=False)

    def leaks(self) -> list[str]:
        """All artefacts: what was printed, the state directory, the folders for home and temporary files, reports, the database."""
        found = [leak for command, text in self.outputs.items() for leak in SECRETS.leaks(command, text)]
        folders = [self.folder / "site" / "state", *(self.folder / name for name in ("home", "tmp", "written"))]
        return found + SECRETS.in_files(folders) + SECRETS.in_database(self.database_url)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """With PostgreSQL where it is installed."""
    folder = tmp_path_factory.mktemp("secrets")
    tree = invented()
    tree["/redfish/v1/Systems/Node.1"] |= {"PowerState": "On", "SerialNumber": "S1"}
    with ExitStack() as stack:
        url = stack.enter_context(server(TOOLS)) if TOOLS else f"sqlite:///{folder}/site/state/clusterctl.db"
        bmc = stack.enter_context(Bmc(tree, folder))
        node = stack.enter_context(ContainerNode(folder / "node", f"ct-secrets-{os.getpid()}"))
        node.shell("useradd -m ops; echo 'ops ALL=(ALL) ALL' > /etc/sudoers.d/ops")
        node.shell(f"echo {shlex.quote(f'ops:{SUDO}')} | chpasswd")
        node.authorize_key("ops", "/home/ops")
        made = Site(folder, node, bmc, url)
        made.write()
        yield made


WRONG = ("-i", "machine", "-i", "inventory", "-i", "wrong")
PROVISION = ("provision", "all", "--yes", "-vvv", "--diff", "--all-roles", "--include-drained", "-e", json.dumps({"tenant_pass": TYPED}))
# the kernel of a container has no log of its own, so the burn-in of the node cannot be complete
COMMANDS: list[tuple[tuple[str, ...], ExitCode]] = [
    (("inventory", "-o", "json"), ExitCode.OK),
    (("profile", "show", "v1-n01"), ExitCode.OK),
    (("plan", "all", "--ansible", "--out", "../written/plan.json"), ExitCode.CHANGES_PENDING),
    ((*PROVISION, "-o", "json"), ExitCode.GATE_FAILED),
    (("validate", "all", "-o", "json"), ExitCode.OK),
    (("validate", "all", *WRONG), ExitCode.UNREACHABLE),
    (("drift", "all", "-o", "json", "--textfile", "../written/drift.prom"), ExitCode.OK),
    (("--debug", "bmc", "all", "-o", "json"), ExitCode.OK),
    (("--debug", "bmc", "all", *WRONG), ExitCode.UNREACHABLE),
    (("drain", "all", "--reason", "a test", "--force"), ExitCode.OK),
    (("power", "off", "all", "-o", "json"), ExitCode.OK),
    (("power", "on", "all", "--timeout", "1"), ExitCode.UNREACHABLE),
    (("power", "on", "all", *WRONG), ExitCode.UNREACHABLE),
    ((*PROVISION, *WRONG), ExitCode.UNREACHABLE),
    (("report", "last", "--out", "../written/report.html"), ExitCode.OK),
    (("history", "v1-n01", "-o", "json"), ExitCode.OK),
    (("status", "all", "-o", "json"), ExitCode.OK),
    (("doctor",), ExitCode.OK),
]


@pytest.mark.containers
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")
def test_no_artefact_contains_a_secret(site: Site) -> None:
    codes = [site.clusterctl(*words)[0] for words, _ in COMMANDS]
    assert codes == [expected for _, expected in COMMANDS], site.outputs
    assert site.node.shell("cat /etc/marker") == f"{TOKEN} {VARIABLE}", "the secrets were used"
    assert site.bmc.resets == ["GracefulShutdown", "On"]
    log = "\n".join(p.read_text() for p in site.folder.rglob("ansible.log"))
    assert "Fail with a secret in the message" in log
    assert {p.name for p in (site.folder / "written").iterdir()} == {"plan.json", "drift.prom", "report.html"}
    assert site.leaks() == []
    assert '"marker_token": ********' in log


@pytest.mark.parametrize(
    ("url", "expected", "text"),
    [
        ("postgresql+psycopg://alice:{}@127.0.0.1:1/none", ExitCode.UNEXPECTED, "cannot use the state in"),
        ("postgresql+psycopg://alice:{}@host:no-port/none", ExitCode.CONFIG, "database_url"),
        ("martian://alice:{}@host/none", ExitCode.CONFIG, "'martian' is neither sqlite nor postgresql+psycopg"),
        ("alice:{}@host/none", ExitCode.CONFIG, "is not the URL of a database"),
    ],
)
@pytest.mark.parametrize("words", [("status", "all", "-o", "json"), ("--debug", "drain", "all", "--reason", "a test")])
def test_a_database_that_cannot_be_used_is_named_without_its_password(
    url: str, expected: ExitCode, text: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    address = url.format(quote(POSTGRES, safe=""))
    (tmp_path / "clusterctl.yml").write_text("state_dir: state\n")
    environment = {**os.environ, "CLUSTERCTL_DATABASE_URL": address}
    argv = [sys.executable, "-m", "clusterctl", *words]
    done = subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == expected
    assert text in done.stderr
    assert SECRETS.leaks("output", done.stdout + done.stderr) == []
    assert SECRETS.in_files([tmp_path]) == []
