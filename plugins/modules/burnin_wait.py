"""The documentation of the action plugin of this name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: burnin_wait
short_description: Wait for the burn-in agent of a node
description:
  - Waits until the agent in a folder on the node is done, died, or was ended by a reboot of the node. Broken connections do no harm.
  - The node is unreachable if it does not answer for too long.
options:
  folder: {description: Folder of the run on the node., type: path, required: true}
  limit_s: {description: Seconds for the agent., type: float, required: true}
  return_s: {description: "Seconds in which a node that stopped answering, as it reboots, has to be back.", type: float, required: true}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Wait for the agent
  clusterctl.gpu.burnin_wait: {folder: /var/lib/clusterctl/burnin/run, limit_s: 3600, return_s: 900}
"""
RETURN = r"""
rc: {description: 0 if the agent is done., type: int, returned: success}
stderr: {description: Why it is not., type: str, returned: success}
"""
