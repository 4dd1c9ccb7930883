"""The image recipe and the tree it copies. Nothing here builds it: that needs a registry."""

from __future__ import annotations

import re
import tomllib

from support.roles import ROOT

RECIPE = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
STAGES = re.split(r"^FROM ", RECIPE, flags=re.MULTILINE)[1:]


def copied(stage: str) -> set[str]:
    """What a stage copies from the tree."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", stage, re.MULTILINE)
    return {source for line in lines for source in line.split()[:-1]}


def test_what_is_copied_exists() -> None:
    assert [s for s in copied(STAGES[0]) if not (ROOT / s).exists()] == []


def test_everything_that_the_wheel_is_built_from_is_copied() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    needed = {*hatch["wheel"]["packages"], *hatch["wheel"]["force-include"], *hatch["sdist"]["only-include"]}
    needed |= {"pyproject.toml", "README.md", "LICENSE"}
    given = copied(STAGES[0])
    assert {n for n in needed if not any(n == g or n.startswith(f"{g}/") for g in given)} == set()


def test_the_image_takes_the_built_environment_only_and_runs_it_without_root() -> None:
    last = STAGES[-1]
    assert copied(last) == set()
    assert re.findall(r"^USER (.+)$", last, re.MULTILINE) == ["10001:10001"]
    assert 'ENTRYPOINT ["clusterctl"]' in last


def test_pip_gets_nothing_without_a_hash() -> None:
    """What pip would download to build the wheel is a package, too: it runs when the image is made."""
    calls = re.findall(r"pip install ([^&\n]+)", RECIPE)
    assert calls
    assert [c for c in calls if "--require-hashes" not in c and c.split() != ["--no-deps", "/tmp/wheel/*.whl"]] == []
    [backend] = (r for r in tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"] if r.startswith("hatchling"))
    assert f"{backend} " in (ROOT / "requirements" / "build.txt").read_text()


def test_base_images_have_short_names() -> None:
    assert {s.split()[0] for s in STAGES} == {"python:3.12-slim"}


def test_the_cronjobs_run_as_the_user_of_the_image() -> None:
    for name in ("drift", "booted"):
        job = (ROOT / f"cli/clusterctl/workflows/drift/nightly_files/clusterctl-{name}-cronjob.yml").read_text()
        assert "runAsUser: 10001" in job
