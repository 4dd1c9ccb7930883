"""nvidia-smi: -q [-x], -L, --query-gpu, --query-remapped-rows, nvlink -s|-e, topo -m, conf-compute -q, -pm, -pl, -mig, -e, -c, --version, and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import smi_query, smi_set, smi_text, state
from .gpus import NoDriverError, cuda_version, gpu_views, library_version, require_driver, require_no_lost_gpu

if TYPE_CHECKING:
    from .gpus import GpuView

_SHOWS = {"-L": smi_text.gpu_list, "--list-gpus": smi_text.gpu_list, "nvlink": smi_text.nvlink_status, "topo": smi_text.topology_matrix}

# The rows of R595 on H20 (its mode is off), of which no complete output is public.
_NOT_CONFIDENTIAL = """
==============NVSMI CONF-COMPUTE LOG==============

    CC State                   : OFF
    Multi-GPU Mode             : None
    CPU CC Capabilities        : None
    GPU CC Capabilities        : CC Capable
    CC GPUs Ready State        : Ready
"""


def main(argv: list[str], version: str) -> int:
    """Run nvidia-smi; its error messages go to stdout, as with the real tool."""
    try:
        return _run(argv[1:], version)
    except NoDriverError as e:
        print(e)
        return e.code


def _run(words: list[str], version: str) -> int:
    if "--version" in words:
        print(smi_text.version_text(version, state.driver_version()), end="")
        return 0
    driver = require_driver(library_version() or version)
    views = gpu_views()
    if any(w in ("-pm", "--persistence-mode") or w.startswith("--persistence-mode=") for w in words):
        return _persistence(words)
    if words[:1] not in (["-L"], ["--list-gpus"]):
        require_no_lost_gpu(views)
    query = next((w for w in words if w.startswith("--query-")), "")
    if query:
        return smi_query.run_query(views, driver, query, words)
    # After a subcommand -e and others have another meaning: `nvlink -e` shows errors, `-e 1` alone sets ECC.
    if words[:1] and words[0].startswith("-") and smi_set.requested_setting(words)[0]:
        return smi_set.apply_setting(views, words)
    text = _text(words, views, driver)
    print(text or f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n({words[0]} is not simulated)\n", end="")
    return 0 if text else 2


def _text(words: list[str], views: list[GpuView], driver: str) -> str:
    """The output of a listing; empty for a command line that is not simulated."""
    first = words[0] if words else ""
    if first == "nvlink" and {"-e", "--errorcounters"} & set(words):
        return smi_text.nvlink_errors(views)
    if words == ["conf-compute", "-q"]:
        return _NOT_CONFIDENTIAL
    if first in _SHOWS:
        return _SHOWS[first](views)
    if first in ("-q", "--query"):
        render = smi_text.query_xml if {"-x", "--xml-format"} & set(words) else smi_text.query_text
        return render(views, driver, cuda_version(driver))
    return "" if words else smi_text.summary_table(views, driver, cuda_version(driver))


def _persistence(words: list[str]) -> int:
    state.set_flag("persistence", "1" if words[-1].endswith("1") else "")
    for view in gpu_views():
        mode = "Enabled" if words[-1].endswith("1") else "Disabled"
        print(f"{mode} persistence mode for GPU {view.gpu.bus_id}.")
    print("All done.")
    return 0
