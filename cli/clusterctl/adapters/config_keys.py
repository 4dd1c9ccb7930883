"""What may stand in clusterctl.yml: one declaration per key, from which the program, the reference page and the JSON schema take theirs.

Plain checks and no pydantic model: every command reads the file, and importing pydantic costs more than most commands (0.4 s of CPU).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.breaker import Breaker
from clusterctl.core.lemons.lemon_limits import DEFAULTS, limits_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PACKAGED_LAYERS = {"@common": "common", "@lab": "lab"}
REBOOT_BUDGET = "50%"
APPLY_ON_NODE = "node"
_APPLY = (APPLY_ON_NODE, "ssh")
CPU_QUOTA_PERCENT = 50
_DATABASES = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")
_BUDGET = re.compile(r"[1-9][0-9]*|([1-9][0-9]?|100)%")
_WEEK_MINUTES = 7 * 24 * 60
_BREAKER = Breaker()


@dataclass(frozen=True, slots=True)
class Key:
    """A key of clusterctl.yml.

    Attributes:
        schema: what its value may be, as JSON schema.
        problem: what is wrong with a value as YAML gives it; empty if nothing is.
        hint: what to write.
        meaning: for the reference page, in Markdown.
        default: its value where nobody gives one.
        shown: the default as the page shows it.
        option, environment: what overrides it; an option wins, and a variable that is empty counts as not set.
    """

    name: str
    schema: Mapping[str, object]
    problem: Callable[[object], str]
    hint: str
    meaning: str
    default: object
    shown: str
    option: str = ""
    environment: str = ""


def _text(value: object) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        return "is empty; leave the key out for its default"
    return "" if isinstance(value, str) else f"{value!r} is not text"


def _name(value: object) -> str:
    if problem := _text(value):
        return problem
    return "" if str(value).isprintable() else f"{value!r} has a control character"


def database_problem(kind: str) -> str:
    """What is wrong with the part of a database's URL before `://`; empty if nothing is."""
    return "" if kind in _DATABASES else f"{kind!r} is neither sqlite nor postgresql+psycopg"


def _database(value: object) -> str:
    if problem := _text(value):
        return problem
    kind, separator, _ = str(value).partition("://")
    return database_problem(kind) if separator else "is not the URL of a database"


def _texts(what: str) -> Callable[[object], str]:
    def problem(value: object) -> str:
        return "" if isinstance(value, list) and all(isinstance(v, str) and v for v in value) else f"is not a list of {what}"

    return problem


def _count(what: str) -> Callable[[object], str]:
    def problem(value: object) -> str:
        return "" if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else f"{value!r} is not a {what}"

    return problem


def _share(most: float) -> Callable[[object], str]:
    def problem(value: object) -> str:
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most
        return "" if good else f"{value!r} is not a number above 0 and up to {most}"

    return problem


def _budget(value: object) -> str:
    good = not isinstance(value, bool) and isinstance(value, int | str) and _BUDGET.fullmatch(str(value))
    return "" if good else f"{value!r} is neither a number of nodes nor a percentage"


def _policy(value: object) -> str:
    if problem := _text(value):
        return problem
    from clusterctl.core.drift.policy import parse_policy  # noqa: PLC0415 only for sites with a policy

    try:
        parse_policy(str(value))
    except ValueError as e:
        return str(e)
    return ""


def _apply(value: object) -> str:
    return "" if value in _APPLY else f"{value!r} is neither node nor ssh"


def _any(_value: object) -> str:
    return ""


_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_WORDS = {**_TEXTS, "minItems": 1}
_RECEIVER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        **dict.fromkeys(("name", "webhook", "webhook_env", "token_env"), _TEXT),
        **dict.fromkeys(("command", "types"), _WORDS),
        "timeout_s": {"type": "number", "exclusiveMinimum": 0, "maximum": 60},
        "attempts": {"type": "integer", "minimum": 1, "maximum": 10},
    },
    "oneOf": [{"required": [way]} for way in ("webhook", "webhook_env", "command")],
}
_EVENTS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["receivers"],
    "properties": {"source": {"type": "string"}, "receivers": {"type": "array", "items": _RECEIVER}},
}
_PERCENT_HINT = "write 25 for a quarter of the pool, 10 for ten minutes"

KEYS = (
    Key(
        "inventory",
        _TEXTS,
        _texts("paths"),
        "write inventory: [inventory/common, inventory/mysite]",
        'list of the inventory layers, common first; of those that come with clusterctl, `"@common"` has groups and profiles, `"@lab"` the profiles of the lab',
        (),
        "none",
        option="-i",
    ),
    Key(
        "state_dir",
        _TEXT,
        _text,
        "write state_dir: .clusterctl",
        "database, runs, evidence, lab",
        ".clusterctl",
        "`.clusterctl`",
        option="--state-dir",
        environment="CLUSTERCTL_STATE_DIR",
    ),
    Key(
        "database_url",
        {"type": "string", "pattern": f"^({'|'.join(map(re.escape, _DATABASES))})://"},
        _database,
        "write database_url: sqlite:////absolute/path.db, or postgresql+psycopg://user@host/name",
        "SQLAlchemy URL",
        "",
        "SQLite in `state_dir`",
        environment="CLUSTERCTL_DATABASE_URL",
    ),
    Key(
        "operator",
        _TEXT,
        _name,
        "write operator: NAME, in quotes where it is a number",
        "the person or system that acts, for the record",
        "",
        "the user",
        environment="CLUSTERCTL_OPERATOR",
    ),
    Key(
        "pool",
        {"oneOf": [_TEXT, {"type": "object", "required": ["kind"], "properties": {"kind": _TEXT}}]},
        _any,  # its parts have errors of their own
        "write pool: local, or pool: {kind: NAME, ...} with the settings of that pool",
        "where admitted nodes go: a name, or `{kind: NAME, ...}` with the settings of that pool",
        "local",
        "`local`",
    ),
    Key(
        "gates",
        _TEXTS,
        _texts("modules"),
        "write gates: [my_gates] for plugins/my_gates.py",
        "list of Python modules with gates of the site, in `plugins/` or installed",
        (),
        "none",
    ),
    Key("signing_key", _TEXT, _text, "write signing_key: keys/admission", "SSH key that signs admission records", "", "none"),
    Key(
        "allowed_signers",
        _TEXT,
        _text,
        "write allowed_signers: keys/allowed_signers",
        "list of the keys that may sign, as `ssh-keygen` reads it",
        "",
        "none",
    ),
    Key(
        "reboot_budget",
        {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": f"^({_BUDGET.pattern})$"}]},
        _budget,
        "write 4, or 25%",
        "nodes of a rack that `provision` and `power` may take down at once: a number, or a share",
        REBOOT_BUDGET,
        f"`{REBOOT_BUDGET}`",
    ),
    Key(
        "drift_policy",
        _TEXT,
        _policy,
        "write drift_policy: critical=drain,major=heal",
        "what `drift` does by severity, and about a link that flapped for days: `critical=drain,major=heal,link_flaps=drain`",
        "",
        "report",
        option="drift --policy",
    ),
    Key(
        "auto_partners",
        _COUNT,
        _count("number of nodes"),
        "write 2 to allow two admitted nodes, 0 for none",
        "how many admitted nodes of its rack a node that would be alone in a pair or group gate is measured with; jobs there get slower meanwhile",
        0,
        "`0`",
    ),
    Key(
        "breaker_percent",
        {"type": "number", "exclusiveMinimum": 0, "maximum": 100},
        _share(100),
        _PERCENT_HINT,
        "the [circuit breaker](../explanation/lifecycle.md#pools): how much of the pool may be taken out in one window without `--force`, in percent; "
        "one node always",
        _BREAKER.limit_percent,
        f"`{_BREAKER.limit_percent:g}`",
    ),
    Key(
        "breaker_minutes",
        {"type": "number", "exclusiveMinimum": 0, "maximum": _WEEK_MINUTES},
        _share(_WEEK_MINUTES),
        _PERCENT_HINT,
        "the window of the circuit breaker",
        _BREAKER.window_s / 60,
        f"`{_BREAKER.window_s / 60:g}`",
    ),
    Key(
        "maintenance_windows",
        {"type": "array", "items": {"type": "object"}},
        _any,  # its parts have errors of their own
        "write a list of windows",
        "when planned work may take members out of the pool: see [below](#maintenance-windows)",
        (),
        "none: always",
    ),
    Key(
        "lemon_limits",
        {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(DEFAULTS, _COUNT)},
        limits_problem,
        "write lemon_limits: {exclusions: 3, repairs: 3}; 0 = no limit",
        "from how many events in 30 days on, or twice as many in 90, a machine or part is a [lemon](../explanation/lifecycle.md#lemons); "
        "what is left out keeps its default, 0 = no limit",
        (),
        f"`{{{', '.join(f'{name}: {number}' for name, number in DEFAULTS.items())}}}`",
    ),
    Key(
        "events",
        _EVENTS,
        _any,  # its parts have errors of their own
        "write events: {receivers: [{name: pager, webhook: https://pager.example.org/hook}]}",
        "receivers of events, by webhook or command: see [events](../how-to/events.md)",
        (),
        "none",
    ),
    Key(
        "cpu_quota_percent",
        _COUNT,
        _count("whole number of percent"),
        "write 50 for half a core, 0 for no quota",
        "the share of one core that checks may use on a node; 0 = no quota",
        CPU_QUOTA_PERCENT,
        f"`{CPU_QUOTA_PERCENT}`",
    ),
    Key(
        "apply",
        {"enum": list(_APPLY)},
        _apply,
        "write apply: ssh, or apply: node",
        "where Ansible runs when roles are applied: `node`, on each node itself, or `ssh`, on the controller. "
        "A node whose Python is too old, that is not reached as root by SSH, and roles that need the controller use `ssh` anyway",
        APPLY_ON_NODE,
        f"`{APPLY_ON_NODE}`",
    ),
)
BY_NAME = {key.name: key for key in KEYS}
