"""Render variables with Ansible's templar; what cannot be rendered becomes a problem with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ansible._internal._templating._engine import TemplateEngine, TemplateOptions
from ansible.errors import AnsibleError, AnsibleUndefinedVariable

from clusterctl.adapters.inventory.ansible_worker.origins import NOWHERE, Place, plain, where
from clusterctl.adapters.inventory.references import templates_in
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(slots=True)
class Rendered:
    """Plain values, and the problems of those that have none."""

    values: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class _CompilingOnceEngine(TemplateEngine):  # type: ignore[misc] # ansible-core has no types
    """Ansible's template engine, which compiles a template anew for every node that it renders it for: that takes longer than all else done for a node.

    Where a later Ansible compiles under another name, this changes nothing.
    """

    _compiled: ClassVar[dict[tuple[str, str, Place], Callable[[Mapping[str, Any]], Any]]] = {}

    def _compile_template(self, template: str, options: Any) -> Callable[[Mapping[str, Any]], Any]:
        if options is not TemplateOptions.DEFAULT:
            found: Callable[[Mapping[str, Any]], Any] = super()._compile_template(template, options)
            return found
        key = (str(self.basedir), str(template), where(template))  # errors name the place
        if key not in self._compiled:
            self._compiled[key] = super()._compile_template(template, options)
        return self._compiled[key]


def render_variables(loader: Any, raw: Mapping[str, Any], variables: Mapping[str, Any], place: Callable[[str], Place]) -> Rendered:
    """Render each of `raw` under `variables`; `place` gives the file and line of a name."""
    result = Rendered()
    engine: Any = None
    for name, value in raw.items():
        if not any(templates_in(value)):
            result.values[name] = plain(value)
            continue
        engine = engine or _CompilingOnceEngine(loader=loader, variables=dict(variables))
        try:
            result.values[name] = plain(engine.template(value))
        except AnsibleError as e:
            result.problems.append(_problem(name, e, place(name)))
    return result


def _problem(name: str, error: AnsibleError, fallback: Place) -> Problem:
    file, line = where(error.obj)
    if (file, line) == NOWHERE:
        file, line = fallback
    text = " ".join(str(error.message).split())
    if isinstance(error, AnsibleUndefinedVariable):
        return Problem(name, f"its template reads what is not set: {text} (a spec has no facts)", file, line)
    return Problem(name, f"its template cannot be rendered: {text}", file, line)
