"""What is installed on the nodes of a burn-in, from their stored validations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.installed_versions_file import INSTALLED_FILE, installed_document
from clusterctl.core.installed_versions import installed_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.adapters.run_directory import RunDir
    from clusterctl.adapters.store import Store
    from clusterctl.model.installed_skew import InstalledVersion
    from clusterctl.model.validator_traits import ValidatorTraits


def keep_installed(store: Store, nodes: Iterable[str], rundir: RunDir, traits: ValidatorTraits) -> Mapping[str, Sequence[InstalledVersion]]:
    """The versions of each node, by its newest validation under the present declared state; also kept in the run directory. A node without one is left out.

    Raises:
        StoreError: the database cannot be read, or the run directory not be written.
    """
    found = {name: store.findings(name, current=True) for name in nodes}
    installed = {name: versions for name, known in found.items() if known and (versions := installed_versions(known.findings, traits))}
    rundir.write_json(INSTALLED_FILE, installed_document(installed))
    return installed
