from __future__ import annotations

import pytest

from clusterctl.adapters.inventory.references import references, templates_in


@pytest.mark.parametrize(
    ("template", "names", "dynamic"),
    [
        ("plain", set(), False),
        ("{{ a }}", {"a"}, False),
        ("{{ a.b[c] | d(e) }}", {"a", "c", "e"}, False),
        ("{% for x in xs %}{{ x }}{{ y }}{% endfor %}", {"xs", "x", "y"}, False),
        ("{% set z = a %}{{ z }}", {"a", "z"}, False),
        ("{{ 'a' }}", set(), False),
        ("{{ [a] | map('ansible.builtin.split', b) }}", {"a", "b"}, False),
        ("{{ hostvars[other].ansible_host }}", {"hostvars", "other"}, True),
        ("{{ vars['a'] }}", {"vars"}, True),
        ("{{ lookup('vars', 'a') }}", {"lookup"}, True),
        ("{{ lookup(plugin, 'a') }}", {"lookup", "plugin"}, True),
        ("{{ lookup('ansible.builtin.env', 'HOME') }}", {"lookup"}, False),
        ("{{ query('template', 'x.j2') }}", {"query"}, True),
        ("{{ lookup() }}", {"lookup"}, True),
        ("{{ broken", set(), True),
    ],
)
def test_references(template: str, names: set[str], dynamic: bool) -> None:
    found = references(template)
    assert set(found.names) == names
    assert found.dynamic is dynamic


def test_templates_are_found_at_any_depth() -> None:
    value = {"{{ key }}": [1, {"a": "{{ b }}"}], "plain": ("{% if c %}{% endif %}", None)}
    assert list(templates_in(value)) == ["{{ key }}", "{{ b }}", "{% if c %}{% endif %}"]
