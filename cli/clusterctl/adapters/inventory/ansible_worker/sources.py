"""Inventory sources: why a plug-in could not read one, and what it skipped. Ansible itself only warns of both on the terminal."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager

from clusterctl.adapters.inventory.ansible_worker.failures import config_failure, error_chain, error_message
from clusterctl.adapters.inventory.ansible_worker.origins import where
from clusterctl.core.near_match import did_you_mean
from clusterctl.model.problem import Problem, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterctl.adapters.inventory.ansible_worker.failures import WorkerError

_BY_PLUGIN_KEY = "auto"
_YAML = "yaml"
# They read a file, and nothing else.
_STATIC = frozenset({"host_list", "ini", "toml", _YAML})
_SECTIONS = ("vars", "children", "hosts")
_HINT = "correct the source, or install what its plug-in needs into clusterctl's environment"


class SourceManager(InventoryManager):  # type: ignore[misc] # ansible-core has no types
    """Ansible's inventory manager, with the errors of plug-ins kept by source."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader=loader, parse=False)
        self._plugin_errors: dict[str, dict[str, Exception]] = defaultdict(dict)
        self._plugins_used: set[str] = set()
        self._skipped: list[Problem] = []

    def read(self, sources: list[str]) -> None:
        """Read all sources.

        Raises:
            AnsibleError: one cannot be read, see `unreadable_source`; or a variable file cannot.
        """
        self._sources = sources
        self.parse_sources()

    def _fetch_inventory_plugins(self) -> list[Any]:
        plugins: list[Any] = super()._fetch_inventory_plugins()
        for plugin in plugins:
            skipped: list[Problem] = []
            plugin.parse = self._recorded(str(plugin._load_name), plugin.parse, skipped)  # noqa: SLF001 as Ansible names it
            if plugin._load_name == _YAML:  # noqa: SLF001
                plugin._parse_group = _with_skipped(plugin._parse_group, skipped)  # noqa: SLF001 the only place that reads all groups of a file
        return plugins

    def _recorded(self, plugin: str, parse: Callable[..., None], skipped: list[Problem]) -> Callable[..., None]:
        def parse_and_record(inventory: Any, loader: Any, path: Any, **options: Any) -> None:
            skipped.clear()
            try:
                parse(inventory, loader, path, **options)
            except Exception as e:
                self._plugin_errors[str(path)][plugin] = e
                raise
            self._plugins_used.add(plugin)
            self._skipped += skipped

        return parse_and_record

    @property
    def skipped(self) -> tuple[Problem, ...]:
        """What of the groups in YAML files nothing reads."""
        return tuple(self._skipped)

    @property
    def is_static(self) -> bool:
        """Whether all sources are files that give the same answer as long as nobody changes them."""
        return self._plugins_used <= _STATIC

    def unreadable_source(self) -> WorkerError | None:
        """Why `read` gave up, where no plug-in could read a source; None where it gave up for another reason.

        A source that names its plug-in, and a script, are meant for one plug-in only: the errors of the others would mislead.
        """
        source = str(self._inventory.current_source or "")
        errors = self._plugin_errors.get(source, {})
        meant = _meant_for(self._loader, source)
        errors = {p: e for p, e in errors.items() if (p == meant if meant else p != _BY_PLUGIN_KEY)}
        if not errors:
            return None
        causes = [f"plug-in {plugin!r}: {_cause(error)}" for plugin, error in errors.items()]
        return config_failure(f"inventory source {shown_path(source)} cannot be read: {'; '.join(causes)}", _HINT)


def _with_skipped(parse_group: Callable[..., Any], skipped: list[Problem]) -> Callable[..., Any]:
    def parse_and_look(group: Any, data: Any) -> Any:
        skipped.extend(_unread(group, data))
        return parse_group(group, data)

    return parse_and_look


def _unread(group: Any, data: Any) -> Iterator[Problem]:
    """The parts of a group that Ansible skips: a rack under `host:` would not be there."""
    if data is not None and not isinstance(data, dict):
        yield Problem(str(group), "nothing reads this: a group is a mapping of vars, children and hosts", *where(group))
        return
    for key in data or ():
        if key not in _SECTIONS:
            message = f"nothing reads this: a group has vars, children and hosts{did_you_mean(str(key), _SECTIONS)}"
            yield Problem(f"{group}.{key}", message, *where(key))


def _meant_for(loader: Any, source: str) -> str:
    """The plug-in that a file is written for, or an empty string where any may read it."""
    try:
        if Path(source).read_bytes().startswith(b"#!"):
            return "script"
        data = loader.load_from_file(source, cache="none")
    except (OSError, AnsibleError):
        return ""
    return _BY_PLUGIN_KEY if isinstance(data, dict) and "plugin" in data else ""


def _cause(error: Exception) -> str:
    """The message of an error and of those that caused it, each once."""
    texts: list[str] = []
    for one in error_chain(error):
        text = " ".join(f"{error_message(one)} {getattr(one, '_help_text', None) or ''}".split())
        if text and not any(text in known for known in texts):
            texts.append(text)
    return ": ".join(texts)
