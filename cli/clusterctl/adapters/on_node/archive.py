"""What a node gets once: Ansible, its runner, their pure Python dependencies, and the roles and plug-ins of clusterctl and the site, in one reproducible zip.

Everything comes from the controller's own installation, so both ways of applying run the same code; nothing is downloaded.
"""

from __future__ import annotations

import os
import re
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import PLUGINS, content_dir
from clusterctl.adapters.file_tree import files_below
from clusterctl.adapters.on_node.fast_to_read import all_filters, as_json, own_routes
from clusterctl.adapters.site_content import site_content
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "clusterctl_on_node"
PAYLOAD = "payload"
# ansible-core 2.19 runs on no older one
MIN_PYTHON = (3, 11)
# cryptography is left out: it is not pure Python, and secrets are decrypted before they are sent
_DISTRIBUTIONS = (
    "ansible-core", "jinja2", "markupsafe", "pyyaml", "packaging", "resolvelib",
    "ansible-runner", "pexpect", "ptyprocess", "python-daemon", "lockfile",
)  # fmt: skip
_LEFT_OUT = frozenset({"..", "ansible_test"})
# ansible-core reads the version of jinja2; the other files differ between installations of the same package
_KEPT_OF_DIST_INFO = frozenset({"METADATA", "entry_points.txt"})
_COMPILED = (".so", ".pyc", ".pyd")
_FQCN = re.compile(r"\b([a-z_]+)\.([a-z_]+)\.([a-z_0-9]+)\b")
# ansible-doc alone reads them
_DOCUMENTS = re.compile(rf"{PAYLOAD}/content/.*plugins/(filter/[^/]+\.ya?ml|doc_fragments/.+)$")
_OWN = frozenset({("ansible", "builtin"), ("clusterctl", "gpu")})
_COLLECTION = re.compile(rf"{PAYLOAD}/content/(?:playbooks/)?collections/ansible_collections/(\w+)/(\w+)/")
_ROUTES = f"{PAYLOAD}/lib/ansible/config/ansible_builtin_runtime.yml"
_PLUGIN_UTILS = "ansible_collections.clusterctl.gpu.plugins.plugin_utils"
_FILTERS = re.compile(rf"({PAYLOAD}/content/{PLUGINS}/)filter/(\w+)\.py$")
_ARGUMENT_SPECS = re.compile(r".*/meta/argument_specs\.ya?ml$")


def members() -> dict[str, bytes]:
    """Name in the archive -> content.

    Raises:
        ConfigError: a part of the installation is missing.
    """
    content = f"{PAYLOAD}/content"
    found = {f"{PROGRAM}/{p.name}": p.read_bytes() for p in _program_dir().glob("*.py")}
    found |= {f"{content}/connection/{p.name}": p.read_bytes() for p in (_program_dir() / "connection").glob("*.py")}
    found[f"{content}/preloaded_python.py"] = found[f"{PROGRAM}/preloaded_python.py"]
    for name in _DISTRIBUTIONS:
        found |= {f"{PAYLOAD}/lib/{path}": data for path, data in _distribution(name)}
    root = content_dir()
    own = [(root / "playbooks", "playbooks"), (root / "roles", "roles"), (root / PLUGINS, str(PLUGINS))]
    site = [(folder, f"site_roles/{name}") for name, folder in site_content().roles.items()]
    for folder, name in (*own, *site):
        found |= {f"{content}/{name}/{path}": data for path, data in files_below(folder)}
    found = {name: data for name, data in found.items() if not _DOCUMENTS.match(name)}
    found[f"{content}/ansible.cfg"] = (root / "ansible.cfg").read_bytes()
    texts = [data for name, data in found.items() if name.startswith(content) and name.endswith((".yml", ".yaml"))]
    found |= {f"{content}/collections/{path}": data for path, data in collection_files(texts)}
    found |= {name: as_json(data) for name, data in found.items() if _ARGUMENT_SPECS.match(name)}
    found = _with_filters_in_one_file(found)
    found[_ROUTES] = own_routes(found[_ROUTES], {f"{m[1]}.{m[2]}" for name in found if (m := _COLLECTION.match(name))})
    return found


def _with_filters_in_one_file(found: dict[str, bytes]) -> dict[str, bytes]:
    """The same files, with those of our collection's filters where shared code of plug-ins belongs, and one that names them all in their place."""
    moved = {name: m for name in found if (m := _FILTERS.match(name))}
    new = {f"{m[1]}plugin_utils/{m[2]}.py": found[name] for name, m in moved.items()}
    new[f"{PAYLOAD}/content/{PLUGINS}/filter/all.py"] = all_filters(_PLUGIN_UTILS, (m[2] for m in moved.values()))
    return {name: data for name, data in found.items() if name not in moved} | new


def _program_dir() -> Path:
    spec = find_spec(PROGRAM)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(detail=f"{PROGRAM} is not installed", hint="reinstall clusterctl")
    return Path(spec.submodule_search_locations[0])


def _distribution(name: str) -> Iterator[tuple[str, bytes]]:
    """The files of an installed package without compiled ones: each of these packages has a pure Python form of what it compiles."""
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError as e:
        raise ConfigError(detail=f"{name} is not installed", hint="install it into clusterctl's environment") from e
    for file in files:
        path = Path(str(file.locate()))
        about = file.parts[0].endswith(".dist-info") and file.name not in _KEPT_OF_DIST_INFO
        if file.parts[0] not in _LEFT_OUT and not about and not file.name.endswith(_COMPILED) and path.is_file():
            yield str(file), path.read_bytes()


def _collection_roots() -> list[Path]:
    """The folders of collections as Ansible searches them: its path, its defaults, and the `ansible` package."""
    home = Path(os.environ.get("ANSIBLE_HOME", "~/.ansible")).expanduser()
    declared = os.environ.get("ANSIBLE_COLLECTIONS_PATH", f"{home}/collections:/usr/share/ansible/collections").split(os.pathsep)
    spec = find_spec("ansible_collections")
    installed = (spec.submodule_search_locations or ()) if spec else ()
    return [*(Path(p).expanduser() / "ansible_collections" for p in declared if p), *map(Path, installed)]


def collection_files(texts: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """What a site's roles need of other collections: the plug-ins that their files name, and what the modules of a collection share.

    Args:
        texts: the task files of all roles.
    """
    used: dict[tuple[str, str], set[str]] = {}
    for text in texts:
        for namespace, name, plugin in _FQCN.findall(text.decode(errors="replace")):
            if (namespace, name) not in _OWN:
                used.setdefault((namespace, name), set()).add(plugin)
    for (namespace, name), plugins in sorted(used.items()):
        folder = next((d for p in _collection_roots() if (d := p / namespace / name).is_dir()), None)
        if folder is None:
            continue  # not a collection: a name with two dots
        wanted = [folder / f for f in ("MANIFEST.json", "galaxy.yml", "meta/runtime.yml")]
        wanted += [p for d in ("module_utils", "doc_fragments") for p in sorted((folder / "plugins" / d).rglob("*.py"))]
        wanted += [p for plugin in sorted(plugins) for p in sorted((folder / "plugins").glob(f"*/{plugin}.py"))]
        for path in (p for p in wanted if p.is_file()):
            yield f"ansible_collections/{namespace}/{name}/{path.relative_to(folder)}", path.read_bytes()
