"""The package source of the node image: the Debian or Ubuntu archive that the host itself uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clusterctl.model.errors import LabError


@dataclass(frozen=True, slots=True)
class AptSources:
    """An apt archive.

    Attributes:
        suite: name of the release, e.g. bookworm or noble.
        text: deb822 sources file that lists only the host's archive.
    """

    suite: str
    text: str


def host_sources(etc: Path = Path("/etc")) -> AptSources:
    """Read os-release and the apt sources of this machine, without third-party archives.

    Raises:
        LabError: the host is neither Debian nor Ubuntu, or apt has no archive of its release.
    """
    suite = _codename(etc / "os-release")
    stanzas = [s for file in _files(etc / "apt") for s in _stanzas(file) if _is_archive(s, suite)]
    if not stanzas:
        raise LabError(
            detail=f"apt has no archive for {suite or 'this system'}",
            hint="the lab builds its nodes from the archive of a Debian or Ubuntu host: check /etc/apt/sources.list.d",
        )
    return AptSources(suite, "\n".join("".join(f"{k}: {v}\n" for k, v in s.items()) for s in stanzas))


def _codename(os_release: Path) -> str:
    if not os_release.is_file():
        return ""
    values = dict(line.split("=", 1) for line in os_release.read_text(encoding="utf-8").splitlines() if "=" in line)
    return values.get("VERSION_CODENAME", "").strip('"')


def _files(apt: Path) -> list[Path]:
    return [f for f in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))) if f.is_file()]


def _stanzas(file: Path) -> list[dict[str, str]]:
    text = file.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if file.suffix == ".sources":
        return [_fields(block.splitlines()) for block in "\n".join(lines).split("\n\n") if block.strip()]
    return [s for line in lines if (s := _one_line(line))]


def _fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1].isspace() and name:
            fields[name] += "\n" + line
        elif ":" in line:
            name, value = line.split(":", 1)
            fields[name] = value.strip()
    return fields


def _one_line(line: str) -> dict[str, str]:
    """`deb [signed-by=/x] URI SUITE COMPONENT...` as deb822 fields; empty for any other line."""
    head, _, rest = line.strip().partition(" ")
    if head != "deb":
        return {}
    fields = {"Types": "deb"}
    if rest.lstrip().startswith("["):
        options, _, rest = rest.lstrip()[1:].partition("]")
        signed = [o.split("=", 1)[1] for o in options.split() if o.startswith("signed-by=")]
        fields |= {"Signed-By": signed[0]} if signed else {}
    uri, *words = rest.split()
    return {**fields, "URIs": uri, "Suites": words[0], "Components": " ".join(words[1:])} if words else {}


def _is_archive(stanza: dict[str, str], suite: str) -> bool:
    suites = stanza.get("Suites", "").split()
    own = {suite, *(f"{suite}{suffix}" for suffix in ("-updates", "-security", "-backports"))}
    return (
        bool(suite)
        and stanza.get("Types", "").startswith("deb")
        and bool(suites)
        and set(suites) <= own
        and "main" in stanza.get("Components", "")
    )
