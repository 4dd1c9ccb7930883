from __future__ import annotations

import string

import pytest

from clusterctl.model import errors

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.ClusterctlError)]


def fields(template: str) -> set[str]:
    return {name.partition("!")[0] for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("error", CLASSES, ids=lambda c: c.__name__)
def test_template_and_hint_are_filled_from_the_values(error: type[errors.ClusterctlError]) -> None:
    values = {name: f"<{name}>" for name in fields(error.template) | fields(error.hint_template)}
    made = error(**values)
    assert all(f"<{name}>" in str(made) for name in fields(error.template))
    assert all(f"<{name}>" in made.hint for name in fields(error.hint_template))


@pytest.mark.parametrize("error", [c for c in CLASSES if c is not errors.ClusterctlError], ids=lambda c: c.__name__)
def test_every_error_has_a_hint(error: type[errors.ClusterctlError]) -> None:
    assert error.hint_template


@pytest.mark.parametrize("error", CLASSES, ids=lambda c: c.__name__)
def test_a_missing_value_raises_a_key_error(error: type[errors.ClusterctlError]) -> None:
    with pytest.raises(KeyError):
        error()


def test_braces_in_a_value_are_not_changed() -> None:
    assert str(errors.ConfigError(detail="{{ nvidia_driver }}", hint="")) == "{{ nvidia_driver }}"
