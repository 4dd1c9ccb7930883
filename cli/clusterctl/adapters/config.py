"""Where inventory and state are: `clusterctl.yml`, the environment, options; options win."""

from __future__ import annotations

import getpass
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.given_file import read_given_text
from clusterctl.adapters.yaml_line import yaml_line
from clusterctl.core.breaker import Breaker
from clusterctl.core.pool_limits import PoolLimits
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.core.maintenance_windows import MaintenanceWindows

FILE_NAME = "clusterctl.yml"
COMMON = "@common"
REBOOT_BUDGET = "50%"
CPU_QUOTA_PERCENT = 50
_NO_LIMITS = PoolLimits()
_KEYS = {
    "inventory",
    "state_dir",
    "database_url",
    "operator",
    "pool",
    "gates",
    "signing_key",
    "allowed_signers",
    "reboot_budget",
    "drift_policy",
    "cpu_quota_percent",
    "auto_partners",
    "breaker_percent",
    "breaker_minutes",
    "maintenance_windows",
}


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
        inventory: the inventory layers, common first; `@common` in the file stands for the packaged common inventory.
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
        cpu_quota_percent: what the checks of a node may take of it, in percent of one core; 0 = no quota.
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

    @property
    def plugins(self) -> Path:
        """The folder of the site's own Python modules: gates and pools."""
        return self.root / "plugins"

    @property
    def store_url(self) -> str:
        """The SQLAlchemy URL to open."""
        return self.database_url or f"sqlite:///{self.state_dir / 'clusterctl.db'}"


def find_file(start: Path) -> Path | None:
    """The nearest clusterctl.yml at or above `start`; CLUSTERCTL_CONFIG overrides."""
    named = os.environ.get("CLUSTERCTL_CONFIG")
    if named:
        return Path(named)
    return next((d / FILE_NAME for d in (start, *start.parents) if (d / FILE_NAME).is_file()), None)


def read_config(inventory: tuple[str, ...] = (), state_dir: str | None = None, start: Path | None = None) -> Config:
    """Read clusterctl.yml and lay environment and options over it.

    Raises:
        ConfigError: the file cannot be read, is not a mapping, or has an unknown key.
    """
    here = (start or Path.cwd()).resolve()
    file = find_file(here)
    data: dict[str, object] = {}
    if file is not None:
        data = _read(file)
    root = file.resolve().parent if file else here
    named = _strings(data, "inventory", file, "paths", hint="write inventory: [inventory/common, inventory/mysite]")
    layers = tuple(_layer(here, i) for i in inventory) or tuple(_layer(root, i) for i in named)
    chosen = state_dir or os.environ.get("CLUSTERCTL_STATE_DIR") or str(data.get("state_dir", ".clusterctl"))
    return Config(
        root=root,
        inventory=layers,
        state_dir=(root / chosen).resolve(),
        database_url=os.environ.get("CLUSTERCTL_DATABASE_URL", str(data.get("database_url", ""))),
        operator=os.environ.get("CLUSTERCTL_OPERATOR", str(data.get("operator", "")) or _whoami()),
        pool=_pool(data.get("pool", "local"), root, file),
        gates=tuple(_strings(data, "gates", file, "modules", hint="write gates: [my_gates] for plugins/my_gates.py")),
        signing_key=root / str(data["signing_key"]) if data.get("signing_key") else None,
        allowed_signers=root / str(data["allowed_signers"]) if data.get("allowed_signers") else None,
        reboot_budget=_budget(data.get("reboot_budget", REBOOT_BUDGET), file),
        drift_policy=str(data.get("drift_policy", "")),
        cpu_quota_percent=_percent(data.get("cpu_quota_percent", CPU_QUOTA_PERCENT), file),
        auto_partners=_number(data.get("auto_partners", 0), file),
        limits=PoolLimits(_breaker(data, file), _windows(data, file)),
    )


def _layer(base: Path, name: str) -> Path:
    """A layer's path; `@common` is the common inventory that comes with clusterctl, `a,b` a list of hosts as Ansible has it."""
    if "," in name and not (base / name).exists():
        return Path(name)
    return content_dir() / "inventory" / "common" if name == COMMON else base / name


def _budget(value: object, file: Path | None) -> str:
    """As playbooks/reboot.yml takes it."""
    if isinstance(value, bool) or not re.fullmatch(r"[1-9][0-9]*|([1-9][0-9]?|100)%", str(value)):
        raise invalid_key(file, "reboot_budget", f"{value!r} is neither a number of nodes nor a percentage", "write 4, or 25%")
    return str(value)


def _percent(value: object, file: Path | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise invalid_key(file, "cpu_quota_percent", f"{value!r} is no whole number of percent", "write 50 for half a core, 0 for no quota")
    return value


def _number(value: object, file: Path | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise invalid_key(file, "auto_partners", f"{value!r} is no number of nodes", "write 2 to allow two admitted nodes, 0 for none")
    return value


def _breaker(data: Mapping[str, object], file: Path | None) -> Breaker:
    """`breaker_percent` of the pool within `breaker_minutes`."""
    default = Breaker()
    percent, minutes = data.get("breaker_percent", default.limit_percent), data.get("breaker_minutes", default.window_s / 60)
    for key, value, most in (("breaker_percent", percent, 100), ("breaker_minutes", minutes, 7 * 24 * 60)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
            raise invalid_key(
                file, key, f"{value!r} is no number above 0 and up to {most}", "write 25 for a quarter of the pool, 10 for ten minutes"
            )
    return Breaker(float(str(percent)), 60 * float(str(minutes)))


def _windows(data: Mapping[str, object], file: Path | None) -> MaintenanceWindows:
    if "maintenance_windows" not in data:
        return _NO_LIMITS.windows
    from clusterctl.adapters.maintenance_windows import read_windows  # noqa: PLC0415 time zones are for sites with windows

    return read_windows(data["maintenance_windows"], lambda path, message, hint: invalid_key(file, path, message, hint))


def _whoami() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a passwd entry
        return f"uid-{os.getuid()}"


def _strings(data: Mapping[str, object], key: str, file: Path | None, what: str, *, hint: str) -> list[str]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise invalid_key(file, key, f"is not a list of {what}", hint)
    return value


def _pool(value: object, root: Path, file: Path | None) -> PoolDeclaration:
    """`pool: local`, or a mapping of `kind` and the backend's settings."""
    hint = "write pool: local, or pool: {kind: NAME, ...} with the settings of that pool"
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
    line = yaml_line(file, path) if file else 0
    place = f"{file}:{line}: " if line else f"{file}: " if file else ""
    return ConfigError(detail=f"{place}{path}: {message}", hint=hint)


def _read(file: Path) -> dict[str, object]:
    try:
        data = yaml.safe_load(read_given_text(file))
    except OSError as e:
        raise ConfigError(detail=f"{file}: {e.strerror}", hint="set CLUSTERCTL_CONFIG to a readable file, or unset it") from e
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as e:
        raise ConfigError(detail=f"{file}: {e}", hint="correct the YAML") from e
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(detail=f"{file}: is not a mapping", hint="see `clusterctl init` for an example")
    unknown = sorted(set(map(str, data)) - _KEYS)
    if unknown:
        from clusterctl.core.near_match import did_you_mean  # noqa: PLC0415 difflib is for a mistyped key only

        raise invalid_key(file, unknown[0], f"unknown key{did_you_mean(unknown[0], _KEYS)}", f"known keys: {', '.join(sorted(_KEYS))}")
    return {str(k): v for k, v in data.items()}
