"""The variables of hosts by Ansible's precedence, computed once per distinct set of groups, and who defines what."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.inventory.helpers import sort_groups
from ansible.inventory.host import Host
from ansible.utils.vars import combine_vars
from ansible.vars.plugins import get_vars_from_inventory_sources

from clusterctl.adapters.inventory.ansible_worker.failures import from_ansible
from clusterctl.adapters.inventory.ansible_worker.origins import NOWHERE, Place, where_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterctl.adapters.inventory.ansible_worker.session import Session

Variables = dict[str, Any]
_PROBE = "clusterctl-probe"


class InventoryVariables:
    """Variables of the hosts of one session.

    What a host gets is `groups | host | extra`: the group part comes from Ansible's variable manager, queried with a
    nameless host in the same groups, so that 12,500 hosts in 350 racks cost 350 questions.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sources = session.inventory._sources  # noqa: SLF001 the variable manager uses the same list
        self.extra: Variables = dict(session.variables.extra_vars)
        self._group_part: dict[tuple[str, ...], Variables] = {}
        self._host_part: dict[str, Variables] = {}
        self._chosen: dict[tuple[int, tuple[str, ...]], Variables] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self.of_group = cache(self._of_group)

    def groups(self, host: Any) -> tuple[str, ...]:
        """All groups of a host but `all`, nearest last: the order in which Ansible lets them win."""
        if host.name not in self._groups:
            self._groups[host.name] = tuple(str(g.name) for g in sort_groups(host.get_groups()) if g.name != "all")
        return self._groups[host.name]

    def group_part(self, host: Any) -> Variables:
        """What the groups (and `all`) of a host give it, magic variables included, extra variables too."""
        key = self.groups(host)
        if key not in self._group_part:
            probe = Host(_PROBE, gen_uuid=False)
            probe.groups = host.groups
            found: Variables = self._query(lambda: self._session.variables.get_vars(host=probe))
            own = probe.get_vars()
            self._group_part[key] = {k: v for k, v in found.items() if k not in own}
        return self._group_part[key]

    def host_part(self, host: Any) -> Variables:
        """What the host itself declares (inventory and host_vars), with its own magic variables."""
        if host.name not in self._host_part:
            files = self._query(lambda: get_vars_from_inventory_sources(self._session.loader, self._sources, [host], "task"))
            own = host.get_vars()
            self._host_part[host.name] = combine_vars(own, files) if files else own
        return self._host_part[host.name]

    def effective(self, host: Any) -> Variables:
        """All variables of a host, raw: what a task on it would see, but for facts."""
        merged: Variables = combine_vars(self.group_part(host), self.host_part(host))
        return combine_vars(merged, self.extra) if self.extra else merged

    def chosen(self, host: Any, names: tuple[str, ...]) -> Variables:
        """Those of `names` that are set for a host, raw, in this order."""
        groups = self.group_part(host)
        if (id(groups), names) not in self._chosen:
            self._chosen[id(groups), names] = _some(groups, names)
        found = combine_vars(self._chosen[id(groups), names], _some(self.host_part(host), names))
        return _some(combine_vars(found, _some(self.extra, names)), names)

    def host_names(self, hosts: Iterable[Any]) -> frozenset[str]:
        """The variables that at least one host itself sets."""
        return frozenset(n for h in hosts for n in self.host_part(h))

    def entities(self, hosts: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
        """The definitions of every group and host concerned, each entity once; extra variables last."""
        names: dict[str, None] = {"all": None}
        parts: list[Variables] = []
        for host in hosts:
            names.update(dict.fromkeys(self.groups(host)))
            parts.append(self.host_part(host))
        yield from (self.of_group(n) for n in names)
        yield from parts
        yield self.extra

    def place(self, host: Any, name: str) -> Place:
        """Where the value of `name` that wins for `host` is written."""
        if name in self.extra:
            return ("--extra-vars", 0)
        for entity in (self.host_part(host), *(self.of_group(g) for g in reversed(self.groups(host))), self.of_group("all")):
            if name in entity:
                return where_key(entity, name)
        return NOWHERE

    def _of_group(self, name: str) -> Variables:
        group = self._session.inventory.groups[name]
        files = self._query(lambda: get_vars_from_inventory_sources(self._session.loader, self._sources, [group], "task"))
        merged: Variables = combine_vars(group.get_vars(), files)
        return merged

    @staticmethod
    def _query(question: Any) -> Any:
        try:
            return question()
        except AnsibleError as e:
            raise from_ansible(e) from e


def _some(variables: Variables, names: tuple[str, ...]) -> Variables:
    return {n: variables[n] for n in names if n in variables}
