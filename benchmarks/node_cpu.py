"""Ask one lab node as `clusterctl drift` does and print what its answer says it cost the node: SITE_DIR NODE."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from clusterctl import bundle, config
from clusterctl.spec.load import load_nodes
from clusterctl.transport.ssh import SshClient
from clusterctl.validation import Settings, answer, request, validate


async def _raw(site: Path, name: str) -> dict[str, Any]:
    settings = config.load(start=site)
    (node,) = load_nodes(settings.inventory, name)
    built = bundle.build(settings.state_dir)
    await asyncio.to_thread(validate, [node], settings.state_dir, inventory=settings.inventory)  # the bundle is there afterwards
    asked = request.make(node, built, Settings())
    async with SshClient() as client:
        remote = await client.connect(node.connection)
        said = await remote.run(
            request.command("run", built, node.connection.python), request.launcher_source() + asked.body, answer.LIMIT_BYTES
        )
        remote.close()
    data: dict[str, Any] = json.loads(said.stdout)
    return data


if __name__ == "__main__":
    told = asyncio.run(_raw(Path(sys.argv[1]), sys.argv[2]))
    print(json.dumps({"cpu_s": told["cpu_s"], "checks": len(told["findings"])}))
