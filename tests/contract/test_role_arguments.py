from __future__ import annotations

import pytest

from support.roles import ROOT, Role, all_roles, exemptions

ROLES = all_roles()
BY_NAME = pytest.mark.parametrize("role", ROLES, ids=lambda r: r.name)


def test_the_main_roles_exist() -> None:
    assert {"hardware", "kernel", "os_tuning", "hugepages", "nvidia_driver", "nccl", "gpu_tools"} <= {r.name for r in ROLES}


@BY_NAME
def test_defaults_equal_argument_specs(role: Role) -> None:
    declared = {name: spec["default"] for name, spec in role.options.items() if "default" in spec}
    assert declared == {k: v for k, v in role.defaults.items() if not k.startswith("__")}


@BY_NAME
def test_arguments_have_the_role_prefix_a_type_and_a_description(role: Role) -> None:
    for name, spec in role.options.items():
        assert name.startswith(f"{role.name}_"), name
        assert spec.get("type"), name
        assert spec.get("description"), name


@BY_NAME
def test_a_required_argument_has_no_default(role: Role) -> None:
    for name, spec in role.options.items():
        assert not (spec.get("required") and "default" in spec), name


@BY_NAME
def test_every_argument_is_read_by_a_validator_or_exempt_with_a_reason(role: Role) -> None:
    if role.name in exemptions("exempt_roles.yml"):
        assert exemptions("exempt_roles.yml")[role.name]
        return
    exempt = exemptions("exempt_arguments.yml").get(role.name, {})
    source = (ROOT / "validators" / "clusterctl_validators" / f"test_{role.name}.py").read_text()
    for name in role.options:
        read = f'"{name}"' in source
        assert read or exempt.get(name), f"{name}: no validator reads it, and tests/contract/exempt_arguments.yml gives no reason"
        assert not (read and name in exempt), f"{name} is both read and exempt"


@BY_NAME
def test_exemptions_name_existing_arguments(role: Role) -> None:
    assert set(exemptions("exempt_arguments.yml").get(role.name, {})) <= set(role.options)


@BY_NAME
def test_a_molecule_scenario_runs_the_role(role: Role) -> None:
    if role.name in exemptions("exempt_roles.yml"):
        return
    texts = [p.read_text() for p in (ROOT / "molecule").rglob("*.yml")]
    assert any(role.name in text for text in texts)
