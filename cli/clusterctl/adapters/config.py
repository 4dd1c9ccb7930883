"""Where inventory and state are: `clusterctl.yml`, over it the environment, over both the options."""

from __future__ import annotations

import getpass
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.config_keys import APPLY_ON_NODE, BY_NAME, CPU_QUOTA_PERCENT, PACKAGED_LAYERS, REBOOT_BUDGET
from clusterctl.adapters.given_file import all_may_write
from clusterctl.core.breaker import Breaker
from clusterctl.core.lemons.lemon_limits import limits_of
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import ConfigError
from clusterctl.model.event_settings import EventSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.core.maintenance_windows import MaintenanceWindows
    from clusterctl.model.trouble_counts import TroubleCounts

FILE_NAME = "clusterctl.yml"
_NO_LIMITS = PoolLimits()
_NO_EVENTS = EventSettings()
_MOST_BRACKETS = 1000


@dataclass(frozen=True, slots=True)
class PoolDeclaration:
    """The pool that clusterctl.yml declares; its settings are checked by the backend's own model, where the pool is loaded.

    Attributes:
        kind: a name of the entry point group `clusterctl.pools`, or `module:Class`.
        settings: the keys beside `kind`, as written.
        plugins: the folder of the site's own Python modules; None = there is none.
        file: the clusterctl.yml that declares it; None = a default.
    """

    kind: str = "local"
    settings: Mapping[str, object] = field(default_factory=dict)
    plugins: Path | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a site.

    Attributes:
        root: the folder that holds clusterctl.yml (or the working directory); relative paths start there.
        inventory: the inventory layers, common first; `@common` and `@lab` in the file stand for those that come with clusterctl.
        state_dir: database, run directories, lab.
        database_url: SQLAlchemy URL; empty = SQLite in `state_dir`.
        operator: who is acting, for the record.
        pool: the pool backend and its settings.
        gates: Python modules with gates of the site.
        signing_key: SSH key that signs admission records (its .pub if an agent holds it); None = they are not signed.
        allowed_signers: ssh-keygen's list of who may sign; needed to verify signatures.
        reboot_budget: nodes of one rack down at once: a number, or a share of those to reboot there, at least one.
        drift_policy: what is done about drift: `critical=drain,major=heal`; what is not named is reported.
        auto_partners: how many admitted nodes of its rack a node that would be alone in its burn-in is measured with.
        limits: how much of the pool may be taken out in one window, and when planned work may.
        apply: where Ansible runs: on the nodes themselves where that is possible ("node"), or on the controller ("ssh").
        given_limits: `lemon_limits` as written.
        cpu_quota_percent: what the checks of a node may take of it, in percent of one core; 0 = no quota.
        events: the receivers of events.
    """

    root: Path
    inventory: tuple[Path, ...]
    state_dir: Path
    database_url: str = ""
    operator: str = ""
    pool: PoolDeclaration = PoolDeclaration()
    gates: tuple[str, ...] = ()
    signing_key: Path | None = None
    allowed_signers: Path | None = None
    reboot_budget: str = REBOOT_BUDGET
    drift_policy: str = ""
    cpu_quota_percent: int = CPU_QUOTA_PERCENT
    auto_partners: int = 0
    limits: PoolLimits = _NO_LIMITS
    apply: str = APPLY_ON_NODE
    given_limits: Mapping[str, int] = field(default_factory=dict)
    events: EventSettings = _NO_EVENTS

    @property
    def plugins(self) -> Path:
        """The folder of the site's own Python modules: gates and pools."""
        return self.root / "plugins"

    @property
    def lemon_limits(self) -> TroubleCounts:
        """From how many events on a serial is a lemon."""
        return limits_of(self.given_limits)

    @property
    def store_url(self) -> str:
        """The SQLAlchemy URL to open."""
        return self.database_url or f"sqlite:///{self.state_dir / 'clusterctl.db'}"


def find_file(start: Path) -> Path | None:
    """The nearest clusterctl.yml at or above `start`; CLUSTERCTL_CONFIG overrides.

    Raises:
        ConfigError: every user could have put it there, and the site's modules and roles beside it.
    """
    named = os.environ.get("CLUSTERCTL_CONFIG")
    if named:
        return Path(named)
    found = next((d / FILE_NAME for d in (start, *start.parents) if (d / FILE_NAME).is_file()), None)
    if found and (all_may_write(found) or all_may_write(found.parent)):
        hint = f"if it is yours, run chmod o-w {shlex.join([str(found), str(found.parent)])}; or name it: CLUSTERCTL_CONFIG"
        raise ConfigError(detail=f"{found}: every user of this machine can write it, and it decides what code runs", hint=hint)
    return found


def read_config(inventory: tuple[str, ...] = (), state_dir: str | None = None, start: Path | None = None) -> Config:
    """Read clusterctl.yml and lay environment and options over it.

    Raises:
        ConfigError: the file cannot be read or is not a mapping, a key is unknown, or its value is none that the key takes.
    """
    here = (start or Path.cwd()).resolve()
    file = find_file(here)
    given = _Given({} if file is None else _read(file))
    root = file.resolve().parent if file else here
    layers = tuple(_layer(here, i) for i in inventory) or tuple(_layer(root, i) for i in given.texts("inventory"))
    return Config(
        root=root,
        inventory=layers,
        state_dir=(root / (state_dir or given.text("state_dir"))).resolve(),
        database_url=given.text("database_url"),
        operator=given.text("operator") or _whoami(),
        pool=_pool(given.value("pool"), root, file),
        gates=given.texts("gates"),
        signing_key=given.path("signing_key", root),
        allowed_signers=given.path("allowed_signers", root),
        reboot_budget=given.text("reboot_budget"),
        drift_policy=given.text("drift_policy"),
        cpu_quota_percent=int(given.text("cpu_quota_percent")),
        apply=given.text("apply"),
        auto_partners=int(given.text("auto_partners")),
        given_limits=given.counts("lemon_limits"),
        events=_events(given.data, file),
        limits=PoolLimits(Breaker(given.number("breaker_percent"), 60 * given.number("breaker_minutes")), _windows(given.data, file)),
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """The checked keys of the file, with what overrides them and their defaults."""

    data: Mapping[str, object]

    def value(self, name: str) -> object:
        key = BY_NAME[name]
        over = os.environ.get(key.environment, "") if key.environment else ""
        if not over:
            return self.data.get(name, key.default)
        if problem := key.problem(over):
            raise ConfigError(detail=f"{key.environment}: {problem}", hint=f"correct it, or unset it; as in clusterctl.yml: {key.hint}")
        return over

    def text(self, name: str) -> str:
        return str(self.value(name))

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        return tuple(str(v) for v in value) if isinstance(value, list) else ()

    def number(self, name: str) -> float:
        return float(self.text(name))

    def counts(self, name: str) -> Mapping[str, int]:
        value = self.value(name)
        return {str(k): int(v) for k, v in value.items()} if isinstance(value, dict) else {}

    def path(self, name: str, root: Path) -> Path | None:
        text = self.text(name)
        return root / text if text else None


def _layer(base: Path, name: str) -> Path:
    """A layer's path; `@common` and `@lab` come with clusterctl, `a,b` is a list of hosts as Ansible has it."""
    if "," in name and not (base / name).exists():
        return Path(name)
    return content_dir() / "inventory" / PACKAGED_LAYERS[name] if name in PACKAGED_LAYERS else base / name


def _windows(data: Mapping[str, object], file: Path | None) -> MaintenanceWindows:
    if "maintenance_windows" not in data:
        return _NO_LIMITS.windows
    from clusterctl.adapters.maintenance_windows import read_windows  # noqa: PLC0415 time zones are for sites with windows

    return read_windows(data["maintenance_windows"], lambda path, message, hint: invalid_key(file, path, message, hint))


def _events(data: Mapping[str, object], file: Path | None) -> EventSettings:
    if "events" not in data:
        return _NO_EVENTS
    from clusterctl.adapters.event_settings import read_event_settings  # noqa: PLC0415 only for sites with receivers

    return read_event_settings(data["events"], lambda path, message, hint: invalid_key(file, path, message, hint))


def _whoami() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a passwd entry
        return f"uid-{os.getuid()}"


def _pool(value: object, root: Path, file: Path | None) -> PoolDeclaration:
    """`pool: local`, or a mapping of `kind` and the backend's settings."""
    hint = BY_NAME["pool"].hint
    if isinstance(value, dict):
        if "kind" not in value:
            raise invalid_key(file, "pool.kind", "is missing", hint)
        kind, settings = value["kind"], {str(k): v for k, v in value.items() if k != "kind"}
    else:
        kind, settings = value, {}
    if not isinstance(kind, str) or not kind:
        raise invalid_key(file, "pool.kind" if isinstance(value, dict) else "pool", f"{kind!r} is not the name of a pool", hint)
    return PoolDeclaration(kind, settings, root / "plugins", file)


def invalid_key(file: Path | None, path: str, message: str, hint: str) -> ConfigError:
    """The error for one key of clusterctl.yml, `path` as in `pool.partition`, with the line where it can be found."""
    from clusterctl.adapters.yaml_line import yaml_line  # noqa: PLC0415 as in `_read`

    line = yaml_line(file, path) if file else 0
    place = f"{file}:{line}: " if line else f"{file}: " if file else ""
    return ConfigError(detail=f"{place}{path}: {message}", hint=hint)


def _read(file: Path) -> dict[str, object]:
    from clusterctl.adapters.given_yaml import given_yaml  # noqa: PLC0415 most of what a command without the file would import

    try:
        data = given_yaml(file, most_brackets=_MOST_BRACKETS)
    except OSError as e:
        raise ConfigError(detail=f"{file}: {e.strerror}", hint="set CLUSTERCTL_CONFIG to a readable file, or unset it") from e
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(detail=f"{file}: is not a mapping", hint="`clusterctl init DIR` writes an example")
    for name, value in data.items():
        key = BY_NAME.get(str(name))
        if key is None:
            from clusterctl.core.near_match import did_you_mean  # noqa: PLC0415 difflib is for a mistyped key only

            raise invalid_key(
                file, str(name), f"unknown key{did_you_mean(str(name), BY_NAME)}", f"known keys: {', '.join(sorted(BY_NAME))}"
            )
        if problem := key.problem(value):
            raise invalid_key(file, key.name, problem, key.hint)
    return {str(k): v for k, v in data.items()}
