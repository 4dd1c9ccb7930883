"""The pytest plugin: fixtures spec, record and probe; makes items from the roles of a spec; collects findings.

To run it directly: `pytest -p clusterctl_validators.plugin --spec spec.json [--hosts=ssh://node]`.
"""

import json
from pathlib import Path
from typing import Any, Dict, Generator, List, Optional

import pytest

from clusterctl_validators.collecting import item_of, items_of_argument, make_items, role_of
from clusterctl_validators.finding import GOOD, Finding
from clusterctl_validators.fixtures import LocalProbe, RemoteProbe
from clusterctl_validators.limit import TimeLimitError, time_limit
from clusterctl_validators.record import Record, distinct
from clusterctl_validators.role_modules import import_roles, role_of_module, validator_problem
from clusterctl_validators.spec_view import SpecView

CHECK_TIMEOUT_S = 20.0
RECORD = pytest.StashKey[Record]()
RUN = pytest.StashKey["NodeRun"]()


class NodeRun:
    """One validation of one node.

    Attributes:
        specs: role -> its variables.
        limit_s: time limit of one check function, in seconds.
        findings: the findings so far.
        outside: texts of files from before the run changed its own view of the node.
        broken: why the run as a whole cannot be trusted; empty if it can.
    """

    def __init__(self, roles: Dict[str, Any], limit_s: float = CHECK_TIMEOUT_S) -> None:
        self.specs = {role: SpecView(role, variables) for role, variables in roles.items()}
        self.limit_s = limit_s
        self.findings: List[Finding] = []
        self.outside: Dict[str, str] = {}
        self.broken = ""

    def complete(self) -> List[Finding]:
        """All findings. A role without any could not be verified; in a broken run, no role could."""
        seen = {f.role for f in self.findings}
        silent = [role for role in self.specs if self.broken or role not in seen]
        reason = self.broken or "the validator recorded nothing"
        return distinct(self.findings + [validator_problem(role, reason) for role in silent])


class RunPlugin:
    """A plugin that hands over the run from the program that calls pytest."""

    def __init__(self, run: NodeRun) -> None:
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Set the run before the main plugin looks for it."""
        config.stash[RUN] = self._run


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options for a direct run."""
    group = parser.getgroup("clusterctl")
    group.addoption("--spec", metavar="FILE", help='JSON {"roles": {role: {variable: value}}}: the declared state of the node.')
    group.addoption("--check-timeout", type=float, default=CHECK_TIMEOUT_S, metavar="S", help="Time limit of one check, in seconds.")


def pytest_configure(config: pytest.Config) -> None:
    """Read --spec; select the probe."""
    file = config.getoption("--spec")
    if file:
        roles = json.loads(Path(file).read_text(encoding="utf-8"))["roles"]
        config.stash[RUN] = NodeRun(roles, config.getoption("--check-timeout"))
    run = config.stash.get(RUN, None)
    local = LocalProbe(run.outside if run else {})
    config.pluginmanager.register(RemoteProbe() if config.getoption("hosts", None) else local)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> Optional[bool]:
    """Make items from the roles of the spec, unless files were named."""
    run = session.config.stash.get(RUN, None)
    if run is None or session.config.args_source is pytest.Config.ArgsSource.ARGS:
        return None
    modules, problems = import_roles(run.specs)
    if problems and session.config.getoption("--spec"):
        raise pytest.UsageError("; ".join(_line(p) for p in problems))
    run.findings += problems
    session.items = list(make_items(session, modules))
    session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=session.items)
    session.config.hook.pytest_collection_finish(session=session)
    session.testscollected = len(session.items)
    return True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Call a check once for each item of a declared list: EACH of its module names the argument and the list."""
    run = metafunc.config.stash.get(RUN, None)
    for argument, variable in getattr(metafunc.module, "EACH", {}).items():
        if argument in metafunc.fixturenames:
            view = run.specs.get(role_of_module(metafunc.module)) if run else None
            metafunc.parametrize(argument, items_of_argument(view, variable), ids=str)


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    """The record for the findings of a check."""
    return record_of(request.node)


@pytest.fixture
def spec(request: pytest.FixtureRequest) -> SpecView:
    """The variables of the role of this module."""
    run = request.config.stash.get(RUN, None)
    role = role_of(request.node)
    if run is None or role not in run.specs:
        pytest.fail("no spec for the role {}".format(role), pytrace=False)
    return run.specs[role]


def record_of(item: pytest.Item) -> Record:
    """The record of an item, created at first use."""
    return item.stash.setdefault(RECORD, Record(role_of(item)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """A fixture that fails is a check that could not run."""
    return (yield from _guarded(item))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a check within its time limit; fail the item on bad findings."""
    result = yield from _guarded(pyfuncitem)
    bad = [f for f in record_of(pyfuncitem).findings if f.outcome not in GOOD]
    if bad and RUN in pyfuncitem.config.stash:
        pytest.fail("\n".join(_line(f) for f in bad), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Collect what the item recorded."""
    result = yield
    run = item.config.stash.get(RUN, None)
    if run is not None:
        run.findings += record_of(item).findings
    return result


def _guarded(item: pytest.Item) -> Generator[None, object, object]:
    """Turn any exception of a check into a finding `<role>.<function>`."""
    run = item.config.stash.get(RUN, None)
    if run is None:
        return (yield)
    try:
        with time_limit(limit_of(item, run)):
            return (yield)
    except (Exception, TimeLimitError, pytest.fail.Exception, pytest.skip.Exception) as e:
        text = str(e) if isinstance(e, TimeLimitError) else "{}: {}".format(type(e).__name__, e)
        record_of(item).could_not_run(check_name(item), text)
        raise


def limit_of(item: pytest.Item, run: NodeRun) -> float:
    """The time limit of one check: the run's, or LIMIT_S of its module if that is longer, for tools that take their time on a healthy node."""
    return max(run.limit_s, float(getattr(getattr(item, "module", None), "LIMIT_S", 0)))


def check_name(item: pytest.Item) -> str:
    """The check id of a whole function: `<role>.<function>`, with the item if it is called once for each."""
    return "{}.{}{}".format(role_of(item), getattr(item, "originalname", None) or item.name, item_of(item))


def _line(finding: Finding) -> str:
    result = finding.reason or "expected {}, found {}".format(finding.expected, finding.found)
    return "{} {}: {}".format(finding.outcome.value, finding.check, result)
