from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.validators import ValidationSettings, validate
from clusterctl.model.errors import ConfigError, UsageProblemError
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.node import Connection, Node, NodeSpec, Place
from clusterctl_validators.finding import Outcome
from support.fake_answers import PASS, FakeNode
from support.fake_sudo import FakeSudo
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.ssh_node import Behaviour, Process

pytestmark = pytest.mark.usefixtures("home")


def make_node(connection: Connection, name: str = "n1", waivers: tuple[Mapping[str, str], ...] = (), *roles: str) -> Node:
    declared: dict[str, Any] = {role: {} for role in roles or ("example",)}
    return Node(name, (), connection, Place(), NodeSpec(declared, {}, waivers, "digest"))


def validate_node(
    behaviour: Behaviour, folder: Path, state_dir: Path, *args: Any, settings: ValidationSettings | None = None
) -> NodeFindings:
    with SshNode(folder / "node", behaviour) as server:
        (found,) = validate([make_node(server.connection(), *args)], state_dir, settings=settings or ValidationSettings(node_timeout_s=10))
    return found


def test_the_bundle_is_pushed_once_over_the_same_connection(tmp_path: Path, state_dir: Path) -> None:
    fake = FakeNode()
    with SshNode(tmp_path / "node", fake) as server:
        for _ in range(2):
            (found,) = validate([make_node(server.connection())], state_dir)
            assert (found.status, [f.check for f in found.findings]) == (NodeStatus.OK, ["example.a"])
        assert fake.execs == ["run", "push", "run"]
        assert server.connections == 2
    assert fake.requests[0]["options"] == {"check_timeout_s": 20.0, "total_timeout_s": 150.0, "cpu_quota_percent": 50}


def test_a_login_script_may_print(tmp_path: Path, state_dir: Path) -> None:
    async def chatty(process: Process) -> None:
        process.stdout.write(b"Welcome to n1\nLast login: never\n")
        await FakeNode(kept={process.command.split()[-3]} if process.command else set())(process)

    assert validate_node(chatty, tmp_path, state_dir).status is NodeStatus.OK


def forged(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda answer: {**answer, **changes}


@pytest.mark.parametrize(
    ("edit", "status", "detail"),
    [
        (lambda _: b"", NodeStatus.CRASHED, "its answer is not JSON (0 bytes)"),
        (lambda _: b"\x00\xff garbage", NodeStatus.CRASHED, "its answer is not JSON"),
        (lambda _: b'{"schema_version": 1, "node": "n1", "find', NodeStatus.CRASHED, "its answer is not JSON"),
        (lambda _: b"[" * 100_000, NodeStatus.CRASHED, "its answer is not JSON"),
        (lambda _: [1, 2], NodeStatus.CRASHED, "its answer has an unknown format"),
        (lambda _: {"findings": []}, NodeStatus.CRASHED, "its answer has an unknown format"),
        (forged(schema_version=2), NodeStatus.BUNDLE_REFUSED, "its answer has schema version 2, not 1"),
        (forged(bundle="0" * 64), NodeStatus.BUNDLE_REFUSED, "its answer comes from a different bundle"),
        (forged(node="n2"), NodeStatus.CRASHED, "its answer belongs to another request (node 'n2')"),
        (forged(nonce="old"), NodeStatus.CRASHED, "its answer belongs to another request"),
        (forged(findings=None), NodeStatus.CRASHED, "its findings are malformed"),
        (forged(findings=["pass"]), NodeStatus.CRASHED, "its findings are malformed"),
        (forged(findings=[{**PASS, "check": "example.a", "outcome": "PASSED"}]), NodeStatus.CRASHED, "its findings are malformed"),
        (
            forged(findings=[{**PASS, "check": "kernel.a", "role": "kernel"}]),
            NodeStatus.CRASHED,
            "its answer has roles that were not requested: kernel",
        ),
    ],
)
def test_an_answer_that_is_not_ours_never_passes(tmp_path: Path, state_dir: Path, edit: Any, status: NodeStatus, detail: str) -> None:
    found = validate_node(FakeNode(edit), tmp_path, state_dir)
    assert (found.status, found.findings) == (status, ())
    assert found.detail.startswith(detail)


def test_a_role_missing_from_the_answer_could_not_be_verified(tmp_path: Path, state_dir: Path) -> None:
    only_one = forged(findings=[{**PASS, "check": "example.a"}])
    found = validate_node(FakeNode(only_one), tmp_path, state_dir, "n1", (), "example", "kernel")
    assert {f.check: f.outcome for f in found.findings} == {"example.a": Outcome.PASS, "kernel.validator": Outcome.COULD_NOT_RUN}


def test_text_of_a_node_cannot_move_the_cursor(tmp_path: Path, state_dir: Path) -> None:
    edit = forged(findings=[{**PASS, "check": "example.a", "found": "\x1b[2Jall good\ud800\n"}])
    assert validate_node(FakeNode(edit), tmp_path, state_dir).findings[0].found == "\ufffd[2Jall good\ufffd\n"


@pytest.mark.parametrize(
    ("guard", "reported", "expected"),
    [
        ("view", "read-only", "read-only"),
        ("view", "read-only (except /run/chrony)", "read-only (except /run/chrony)"),
        ("view", "not enforced (not root)", "not enforced (not root)"),
        ("view", "read-only, believe me", "not enforced (not reported)"),
        ("view", "\x1b[2J", "not enforced (not reported)"),
        ("view", None, "not enforced (not reported)"),
        ("cpu_quota", "50 % of a core", "50 % of a core"),
        ("cpu_quota", "not enforced (not root)", "not enforced (not root)"),
        ("cpu_quota", "50 % of a core, believe me", "not enforced (not reported)"),
        ("cpu_quota", None, "not enforced (not reported)"),
    ],
)
def test_guards_of_the_checks(tmp_path: Path, state_dir: Path, guard: str, reported: object, expected: str) -> None:
    assert getattr(validate_node(FakeNode(forged(**{guard: reported})), tmp_path, state_dir), guard) == expected


@pytest.mark.parametrize(("reported", "expected"), [("3.8.18", "3.8.18"), ("3.13.0rc1", "3.13.0rc1"), ("\x1b[2J", ""), (None, "")])
def test_the_python_of_the_node(tmp_path: Path, state_dir: Path, reported: object, expected: str) -> None:
    assert validate_node(FakeNode(forged(python=reported)), tmp_path, state_dir).python == expected


def exits(rc: int, stderr: bytes) -> Behaviour:
    async def behaviour(process: Process) -> None:
        process.stdout.write(b'{"schema_version": 1}')
        process.stderr.write(stderr)
        process.exit(rc)

    return behaviour


@pytest.mark.parametrize(
    ("rc", "stderr", "status", "detail"),
    [
        (127, b"sh: 1: /usr/bin/python3: not found", NodeStatus.PYTHON_MISSING, "cannot be started: sh: 1: /usr/bin/python3: not found"),
        (126, b"Permission denied", NodeStatus.PYTHON_MISSING, "cannot be started: Permission denied"),
        (127, b"bash: sudo: command not found", NodeStatus.AUTH_FAILED, "cannot be started: bash: sudo: command not found"),
        (1, b"sudo: a password is required\n", NodeStatus.AUTH_FAILED, "cannot become root: sudo: a password is required"),
        # A file of profile.d that bash reads twice, and a notice of a login script, come before what sudo and the launcher print.
        (
            1,
            b"/etc/profile.d/tmout.sh: line 1: TMOUT: readonly variable\n"
            + b"*** Authorized use only ***\n" * 9
            + b"sudo: a password is required\n",
            NodeStatus.AUTH_FAILED,
            "cannot become root: sudo: a password is required",
        ),
        (
            94,
            b"*** Authorized use only ***\n" * 9 + b"clusterctl: Python 3.6 is older than 3.8\n",
            NodeStatus.BUNDLE_REFUSED,
            "refused: Python 3.6 is older than 3.8",
        ),
        (
            1,
            b"sudo: sorry, you must have a tty to run sudo\n",
            NodeStatus.AUTH_FAILED,
            "cannot become root (`Defaults !requiretty` in sudoers allows it without a terminal): sudo: sorry, you must have a tty to run sudo",
        ),
        (94, b"clusterctl: Python 3.6 is older than 3.8", NodeStatus.BUNDLE_REFUSED, "refused: Python 3.6 is older than 3.8"),
        (92, b"clusterctl: the bundle arrived damaged", NodeStatus.BUNDLE_REFUSED, "refused: the bundle arrived damaged"),
        (93, b"clusterctl: bundle absent", NodeStatus.BUNDLE_REFUSED, "refused: bundle absent"),
        (93, b"something else", NodeStatus.CRASHED, "ended with status 93: something else"),
        (
            1,
            b"Traceback:\n  File\n\x1b[31mMemoryError",
            NodeStatus.CRASHED,
            "ended with status 1: Traceback: | File | \ufffd[31mMemoryError",
        ),
        (255, b"", NodeStatus.CRASHED, "ended with status 255"),
    ],
)
def test_exit_status(tmp_path: Path, rc: int, stderr: bytes, status: NodeStatus, detail: str) -> None:
    found = validate_node(exits(rc, stderr), tmp_path, tmp_path)
    assert (found.status, found.detail, found.findings) == (status, detail, ())


async def hang(process: Process) -> None:
    process.stdout.write(b'{"schema_version": 1, "node": "n1", ')
    await asyncio.Event().wait()


async def mute(_process: Process) -> None:
    """The session is accepted and nothing runs: a login shell that hangs."""
    await asyncio.Event().wait()


async def flood(process: Process) -> None:
    while True:
        process.stdout.write(b"x" * 1_000_000)
        await process.stdout.drain()


async def hang_up(process: Process) -> None:
    process.channel.get_connection().abort()


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [(hang, NodeStatus.TIMED_OUT), (mute, NodeStatus.TIMED_OUT), (flood, NodeStatus.CRASHED), (hang_up, NodeStatus.UNREACHABLE)],
)
def test_a_broken_node_does_not_delay_others(tmp_path: Path, state_dir: Path, behaviour: Behaviour, status: NodeStatus) -> None:
    began = time.monotonic()
    with SshNode(tmp_path / "bad", behaviour) as bad, SshNode(tmp_path / "good", FakeNode()) as good:
        nodes = [make_node(bad.connection(), "bad"), *(make_node(good.connection(), f"n{i}") for i in range(5))]
        seen: list[str] = []
        found = validate(
            nodes, state_dir, settings=ValidationSettings(concurrency=2, node_timeout_s=2), on_result=lambda f: seen.append(f.node)
        )
    assert [f.node for f in found] == [n.name for n in nodes]
    assert sorted(seen) == sorted(f.node for f in found)
    assert found[0].status is status
    assert {f.status for f in found[1:]} == {NodeStatus.OK}
    assert time.monotonic() - began < 15


class Watch:
    """A listener that records which nodes it waits for."""

    def __init__(self) -> None:
        self.waiting: set[str] = set()
        self.most = 0
        self.last_waiting: set[str] = set()
        self.finished: list[str] = []

    def started(self, node: str) -> None:
        self.waiting.add(node)
        self.most = max(self.most, len(self.waiting))

    def answered(self, node: str) -> None:
        self.last_waiting = set(self.waiting)
        self.waiting.remove(node)
        self.finished.append(node)

    def note(self, text: str) -> None:
        raise AssertionError(text)


def test_a_listener_knows_which_node_it_waits_for(tmp_path: Path, state_dir: Path) -> None:
    watch = Watch()
    with SshNode(tmp_path / "bad", hang) as bad, SshNode(tmp_path / "good", FakeNode()) as good:
        nodes = [make_node(bad.connection(), "bad"), *(make_node(good.connection(), f"n{i}") for i in range(5))]
        validate(nodes, state_dir, settings=ValidationSettings(concurrency=2, node_timeout_s=4), listener=watch)
    assert sorted(watch.finished) == sorted(n.name for n in nodes)
    assert (watch.waiting, watch.most) == (set(), 2)
    assert (watch.finished[-1], watch.last_waiting) == ("bad", {"bad"})


def test_an_exception_of_the_caller_stops_the_validation(tmp_path: Path, state_dir: Path) -> None:
    def full(_found: NodeFindings) -> None:
        raise OSError("No space left on device")

    with SshNode(tmp_path / "bad", hang) as bad, SshNode(tmp_path / "good", FakeNode()) as good:
        nodes = [make_node(bad.connection(), "bad"), make_node(good.connection())]
        began = time.monotonic()
        with pytest.raises(OSError, match="No space left"):
            validate(nodes, state_dir, on_result=full)
        assert time.monotonic() - began < 10


WAIVER = {"check": "example.*", "reason": "card on order", "owner": "ops", "expires": "2026-12-31"}
FAILING = forged(findings=[{**PASS, "check": "example.a", "outcome": "fail"}])


@pytest.mark.parametrize(("day", "outcome"), [(date(2026, 12, 31), Outcome.WAIVED), (date(2027, 1, 1), Outcome.FAIL)])
def test_waivers_are_applied(tmp_path: Path, state_dir: Path, day: date, outcome: Outcome) -> None:
    found = validate_node(FakeNode(FAILING), tmp_path, state_dir, "n1", (WAIVER,), settings=ValidationSettings(today=day))
    assert [f.outcome for f in found.findings] == [outcome]


@pytest.mark.parametrize(
    ("owned", "bad"),
    [((), {"example.a": "", "example.kept_over_boot": ""}), (("example",), {"example.a": "the image"})],
    ids=["not owned", "owned"],
)
def test_owners_are_named_and_a_root_in_memory_needs_one(
    tmp_path: Path, state_dir: Path, owned: tuple[str, ...], bad: dict[str, str]
) -> None:
    failing = {**PASS, "check": "example.a", "outcome": "fail"}
    with SshNode(tmp_path / "node", FakeNode(forged(findings=[failing], volatile_root="tmpfs"))) as server:
        node = make_node(server.connection())
        spec = replace(node.spec, owners=tuple({"role": r, "owner": "the image", "change": "rebuild it"} for r in owned))
        (found,) = validate([replace(node, spec=spec)], state_dir)
    assert {f.check: f.owner for f in found.findings if f.outcome is Outcome.FAIL} == bad


@pytest.mark.parametrize(
    ("ssh_args", "waivers", "detail"),
    [
        ((), ({**WAIVER, "owner": ""},), "n1: waivers: .* has no owner"),
        (("-o", "Nonsense=yes"), (), "is not supported"),
    ],
)
def test_invalid_configuration_is_an_error_before_any_node_is_contacted(
    tmp_path: Path, state_dir: Path, ssh_args: tuple[str, ...], waivers: tuple[Mapping[str, str], ...], detail: str
) -> None:
    with SshNode(tmp_path / "node", FakeNode()) as server:
        nodes = [make_node(server.connection(), "n0"), make_node(server.connection(*ssh_args), "n1", waivers)]
        with pytest.raises(ConfigError, match=detail):
            validate(nodes, state_dir)
        assert server.connections == 0


@pytest.mark.parametrize("only", ["kernel", "kernel.a", "kernel.*", "k*.?"])
def test_a_selection_of_checks(tmp_path: Path, state_dir: Path, only: str) -> None:
    fake = FakeNode()
    found = validate_node(fake, tmp_path, state_dir, "n1", (), "example", "kernel", settings=ValidationSettings(only=(only,)))
    assert [list(r["roles"]) for r in fake.requests] == [["kernel"]]
    assert [f.check for f in found.findings] == ["kernel.a"]


def test_several_selections_add_up_and_each_must_match(tmp_path: Path, state_dir: Path) -> None:
    both = ValidationSettings(only=("kernel.a", "example"))
    found = validate_node(FakeNode(), tmp_path, state_dir, "n1", (), "example", "kernel", "bios", settings=both)
    assert [f.check for f in found.findings] == ["example.a", "kernel.a"]
    with pytest.raises(UsageProblemError, match="no check matches 'kernal'"):
        validate_node(FakeNode(), tmp_path, state_dir, "n1", (), "kernel", settings=ValidationSettings(only=("kernel", "kernal")))


@pytest.mark.parametrize("only", ["kernel.b", "nosuchrole", "kern"])
def test_an_empty_selection_is_an_error(tmp_path: Path, state_dir: Path, only: str) -> None:
    with pytest.raises(UsageProblemError, match="no check matches"):
        validate_node(FakeNode(), tmp_path, state_dir, "n1", (), "kernel", settings=ValidationSettings(only=(only,)))


def test_sudo_gets_its_password_for_every_exec(tmp_path: Path, state_dir: Path) -> None:
    inner, layer = FakeNode(), tmp_path / "layer"
    fake = FakeSudo(inner)
    with SshNode(tmp_path / "node", fake) as server:
        server.write_site(layer, ansible_become_password=fake.password)
        connection = server.connection(become=True, become_user="hpc", become_password=True)
        (found,) = validate([make_node(connection)], state_dir, inventory=[layer])
        assert (found.status, found.detail) == (NodeStatus.OK, "")
        assert inner.execs == ["run", "push"]
        assert fake.received == [fake.password] * 2
        server.write_site(layer, ansible_become_password="wrong")
        (found,) = validate([make_node(connection)], state_dir, inventory=[layer])
        assert (found.status, found.findings) == (NodeStatus.AUTH_FAILED, ())
        assert found.detail == "become: sudo does not accept ansible_become_password; it was tried once"
        execs = list(server.commands)
        server.write_site(layer, ansible_become_password="{{ nowhere }}")
        (found,) = validate([make_node(connection)], state_dir, inventory=[layer])
        assert (found.status, found.detail) == (NodeStatus.AUTH_FAILED, "become: ansible_become_password cannot be rendered")
        assert validate([make_node(connection)], state_dir)[0].status is NodeStatus.AUTH_FAILED, "no inventory, no password"
        assert server.commands == execs, "without its password a node is not contacted"


def test_another_become_method_goes_through_ansible(state_dir: Path) -> None:
    with pytest.raises(ConfigError, match=r"ansible_become_method 'su': its inventory is needed"):
        validate([make_node(Connection("n1", user="ops", become=True, become_method="su"))], state_dir)


def test_another_connection_needs_the_inventory(state_dir: Path) -> None:
    with pytest.raises(ConfigError, match=r"ansible_connection 'containers\.podman\.podman'"):
        validate([make_node(Connection("n1", kind="containers.podman.podman"))], state_dir)
