"""Which pool backend a site declares, where it comes from, and what it may be told."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import PoolDeclaration, read_config
from clusterctl.adapters.pools import loader
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.model.errors import ClusterctlError, ConfigError, PoolError
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path

BACKEND = """
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.pools.settings import PoolSettings


class BatchSettings(PoolSettings):
    partition: str
    drain_s: int = 60


class BatchPool(LocalPool):
    settings_model = BatchSettings

    @classmethod
    def create(cls, store, settings):
        pool = cls(store)
        pool.settings = settings
        return pool


class NoPool:
    settings_model = BatchSettings


class BlindPool(BatchPool):
    def vacate(self, nodes, waiting):
        return {}


class HastyPool(BatchPool):
    def busy(self, nodes):
        return {}


class UntypedPool(LocalPool):
    settings_model = dict
"""


def declared(folder: Path, pool: str) -> PoolDeclaration:
    """What clusterctl.yml declares; the module `MODULE` lies in plugins/ under a name that no other test imports."""
    (folder / "plugins").mkdir(exist_ok=True)
    module = f"batch_{abs(hash(str(folder)))}"
    (folder / "plugins" / f"{module}.py").write_text(BACKEND)
    (folder / "clusterctl.yml").write_text(f"state_dir: s\npool:{pool.replace('MODULE', module)}\n")
    return read_config(start=folder).pool


def test_a_name_alone_declares_a_pool(tmp_path: Path) -> None:
    assert isinstance(loader.load_pool(PoolDeclaration("local"), fresh(tmp_path)), LocalPool)
    assert isinstance(loader.load_pool(declared(tmp_path, " local"), fresh(tmp_path)), LocalPool)
    assert isinstance(loader.load_pool(declared(tmp_path, " {kind: local}"), fresh(tmp_path)), LocalPool)


def test_a_pool_of_the_site_gets_its_settings_typed(tmp_path: Path) -> None:
    pool = loader.load_pool(declared(tmp_path, " {kind: 'MODULE:BatchPool', partition: gpu}"), fresh(tmp_path))
    assert type(pool).__name__ == "BatchPool"
    assert vars(pool)["settings"].model_dump() == {"partition": "gpu", "drain_s": 60}


@pytest.mark.parametrize(
    ("pool", "problems"),
    [
        (" {kind: local, partition: gpu}", ["2: pool.partition: unknown key"]),
        ("\n  kind: MODULE:BatchPool\n  partition: gpu\n  drain_ss: 5", ["5: pool.drain_ss: unknown key; did you mean 'drain_s'?"]),
        ("\n  kind: MODULE:BatchPool\n  partition: 7\n", ["4: pool.partition: should be a valid string, is 7"]),
        (
            "\n  kind: MODULE:BatchPool\n  drain_s: '60'\n",
            ["2: pool.partition: missing", "4: pool.drain_s: should be a valid integer, is '60'"],
        ),
    ],
)
def test_every_wrong_setting_is_named_with_its_line(pool: str, problems: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loader.check_pool(declared(tmp_path, pool))
    assert str(caught.value).splitlines() == [f"{tmp_path}/clusterctl.yml:{p}" for p in problems]
    assert caught.value.hint.startswith("settings of pool ")


@pytest.mark.parametrize(
    ("pool", "error", "says", "hint"),
    [
        (" slrum", PoolError, "no pool backend is called 'slrum'", "clusterctl.yml to one of: "),
        (" {kind: loca}", PoolError, "did you mean 'local'?", "install the package"),
        (" absent_module:Pool", ConfigError, "no module 'absent_module' is in ", "correct its name"),
        (" MODULE:BatchPol", PoolError, "has no 'BatchPol'; did you mean 'BatchPool'?", "correct `pool:`"),
        (
            " MODULE:NoPool",
            PoolError,
            "it has no create, no admit, no remove, no members, no removed_since",
            "own-role-validator-gate-pool",
        ),
        (" MODULE:BlindPool", PoolError, "it has no busy", "own-role-validator-gate-pool"),
        (" MODULE:HastyPool", PoolError, "it has no vacate", "own-role-validator-gate-pool"),
        (" MODULE:UntypedPool", PoolError, "it has no settings_model, a class derived from PoolSettings", "own-role-validator-gate-pool"),
        (" {partition: gpu}", ConfigError, "clusterctl.yml:2: pool.kind: is missing", "write pool: local"),
        (" {kind: 3}", ConfigError, "clusterctl.yml:2: pool.kind: 3 is not the name of a pool", "write pool: local"),
        (" [local]", ConfigError, "clusterctl.yml:2: pool: ['local'] is not the name of a pool", "write pool: local"),
        (" ''", ConfigError, "pool: '' is not the name of a pool", "write pool: local"),
    ],
)
def test_a_pool_that_cannot_be_used(pool: str, error: type[ClusterctlError], says: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(error) as caught:
        loader.check_pool(declared(tmp_path, pool))
    assert says in str(caught.value)
    assert hint in caught.value.hint


def test_a_package_that_does_not_import(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "clusterctl.adapters.pools.absent:Absent", loader.GROUP)
    monkeypatch.setattr(loader, "entry_points", lambda group: [broken] if group == loader.GROUP else [])
    with pytest.raises(PoolError, match="does not load"):
        loader.check_pool(PoolDeclaration("broken"))
