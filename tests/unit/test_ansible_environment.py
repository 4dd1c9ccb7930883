from __future__ import annotations

from pathlib import Path

import pytest

from clusterctl.adapters.ansible import environment as ansible_env

CONTENT = Path("/content")


@pytest.fixture(autouse=True)
def _empty_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_variables_that_ansible_does_not_need_are_left_out() -> None:
    made = ansible_env.minimal_environment({"AWS_SECRET_ACCESS_KEY": "x", "PATH": "/bin", "SSH_AUTH_SOCK": "/s", "HOME": "/h"}, CONTENT)
    assert "AWS_SECRET_ACCESS_KEY" not in made
    assert {made["PATH"], made["SSH_AUTH_SOCK"], made["HOME"]} == {"/bin", "/s", "/h"}


def test_variables_named_in_pass_env_are_passed() -> None:
    made = ansible_env.minimal_environment({"CLUSTERCTL_PASS_ENV": "BMC_PASSWORD, ,MISSING", "BMC_PASSWORD": "x"}, CONTENT)
    assert made["BMC_PASSWORD"] == "x"
    assert "MISSING" not in made


def test_host_keys_are_checked_unless_the_user_disables_it() -> None:
    assert ansible_env.minimal_environment({}, CONTENT)["ANSIBLE_HOST_KEY_CHECKING"] == "True"
    assert ansible_env.minimal_environment({"ANSIBLE_HOST_KEY_CHECKING": "False"}, CONTENT)["ANSIBLE_HOST_KEY_CHECKING"] == "False"


def test_settings_of_the_user_take_precedence() -> None:
    made = ansible_env.minimal_environment({"ANSIBLE_CONFIG": "/mine.cfg", "ANSIBLE_ROLES_PATH": "/mine"}, CONTENT)
    assert (made["ANSIBLE_CONFIG"], made["ANSIBLE_ROLES_PATH"]) == ("/mine.cfg", "/mine")
    assert ansible_env.minimal_environment({}, CONTENT)["ANSIBLE_CONFIG"] == "/content/ansible.cfg"
    Path("ansible.cfg").touch()
    assert ansible_env.minimal_environment({}, CONTENT)["ANSIBLE_CONFIG"] == str(Path("ansible.cfg").absolute())
    Path().chmod(0o1777)
    assert ansible_env.minimal_environment({}, CONTENT)["ANSIBLE_CONFIG"] == "/content/ansible.cfg", "anybody's file, as for Ansible"


def test_callbacks_of_a_sites_own_configuration_stay_enabled(tmp_path: Path) -> None:
    """Ansible reads variables before files: ours would switch off what an ansible.cfg enables."""
    name = "ANSIBLE_CALLBACKS_ENABLED"
    (tmp_path / "mine.cfg").write_text("[defaults]\ncallbacks_enabled = ansible.posix.profile_tasks\n")
    assert ansible_env.minimal_environment({}, CONTENT)[name] == "clusterctl.gpu.preload"
    assert name not in ansible_env.minimal_environment({"ANSIBLE_CONFIG": str(tmp_path / "mine.cfg")}, CONTENT)
    assert ansible_env.minimal_environment({name: "timer"}, CONTENT)[name] == "timer"
    assert ansible_env.minimal_environment({}, tmp_path)[name] == "clusterctl.gpu.preload"
    Path("ansible.cfg").touch()
    assert name not in ansible_env.minimal_environment({}, CONTENT)
    assert ansible_env.minimal_environment({}, Path.cwd())[name] == "clusterctl.gpu.preload", "ours, in a checkout"


@pytest.mark.parametrize(("given", "expected"), [({}, "C.UTF-8"), ({"LANG": "C"}, "C.UTF-8"), ({"LANG": "de_DE.UTF-8"}, None)])
def test_ansible_gets_a_utf8_locale(given: dict[str, str], expected: str | None) -> None:
    assert ansible_env.minimal_environment(given, CONTENT).get("LC_ALL") == expected
