"""What is declared for a host itself, rendered; hosts whose templates read the same share the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.ansible_worker.origins import plain
from clusterctl.adapters.inventory.ansible_worker.templating import Rendered, render_variables
from clusterctl.adapters.inventory.references import templates_in

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import Any

    from clusterctl.adapters.inventory.ansible_worker.sections import Definitions, Section
    from clusterctl.adapters.inventory.ansible_worker.variables import InventoryVariables


class OwnValues:
    """Renders variables by name. Rendering takes longer than all else that is done for a host, so it is done once per class of hosts.

    Args:
        hosts: all whose values will be needed.
        definitions: all that templates may read; called when the first template is met.
    """

    def __init__(self, loader: Any, variables: InventoryVariables, hosts: Sequence[Any], definitions: Callable[[], Definitions]) -> None:
        self._loader = loader
        self._variables = variables
        self._hosts = hosts
        self._definitions = definitions
        self._sections: dict[str, Section] = {}
        self._rendered: dict[tuple[str, Hashable], Rendered] = {}

    def of(self, host: Any, names: tuple[str, ...]) -> Rendered:
        """Those of `names` that are set."""
        result = Rendered()
        for name, value in self._variables.chosen(host, names).items():
            if not any(templates_in(value)):
                result.values[name] = plain(value)
                continue
            one = self._shared(host, name, value)
            result.values.update(one.values)
            result.problems.extend(one.problems)
        return result

    def _shared(self, host: Any, name: str, value: Any) -> Rendered:
        section = self._sections.get(name)
        if section is None:
            section = self._sections[name] = self._definitions().section([name], self._variables.host_names(self._hosts))
        key = (name, section.key(host, self._variables))
        if key not in self._rendered:
            effective = self._variables.effective(host)
            self._rendered[key] = render_variables(self._loader, {name: value}, effective, lambda n: self._variables.place(host, n))
        return self._rendered[key]
