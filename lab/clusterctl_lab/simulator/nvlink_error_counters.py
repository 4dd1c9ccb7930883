"""The error counters of NVLinks as `nvidia-smi nvlink -e` prints them; their names differ by the generation of the links."""

from __future__ import annotations

from . import machine

_NVLINK_4 = dict.fromkeys(("Replay Errors", "Recovery Errors", "CRC Errors"), "0")
# Names and values of healthy links of a B300, driver 595.91.07; their order is not confirmed, no whole output is public.
_NVLINK_5 = {
    **dict.fromkeys(("Malformed packet Errors", "Buffer overrun Errors", "Rx Errors", "Rx remote Errors", "Rx General Errors"), "0"),
    **dict.fromkeys(("Local link integrity Errors", "Tx discards", "Link recovery successful events", "Link recovery failed events"), "0"),
    **dict.fromkeys(("Total link recovery events", "Effective Errors", "Symbol Errors"), "0"),
    **dict.fromkeys(("Effective BER", "Symbol BER"), "15e-255"),
    "FEC Errors - 0": "36140749276",
    **{f"FEC Errors - {symbols}": "0" for symbols in range(1, 16)},
    "Raw BER Lane 0": "2061",
    "Raw BER Lane 1": "1038",
    "Raw BER Total": "1037",
    "Raw Errors Lane 0": "82",
    "Raw Errors Lane 1": "4",
}
_BAD_4 = {"CRC Errors": "3"}
_BAD_5 = {"Symbol Errors": "37", "Symbol BER": "4e-11"}
# The link that flapped for five days (marin-community/marin issue 8934).
_FLAPPING_LINK = 14


def links_text(*, bad: bool, losses: int = 0) -> str:
    """The lines of all links of a GPU; with `bad`, its first link has errors; with `losses`, a later one was lost and recovered so often."""
    links = machine.THIS.nvlinks
    healthy, errors = (_NVLINK_5, _BAD_5) if _is_nvlink_5() else (_NVLINK_4, _BAD_4)
    changed = {0: errors if bad else {}, min(_FLAPPING_LINK, links - 1): _recovered(losses) if losses else {}}
    return "\n".join(_link(link, healthy | changed.get(link, {})) for link in range(links))


def _is_nvlink_5() -> bool:
    return machine.THIS.gpu_architecture == "Blackwell"


def _recovered(losses: int) -> dict[str, str]:
    names = ("Link recovery successful events", "Total link recovery events") if _is_nvlink_5() else ("Recovery Errors",)
    return dict.fromkeys(names, str(losses))


def _link(link: int, counters: dict[str, str]) -> str:
    return "".join(f"\t Link {link}: {name}: {value}\n" for name, value in counters.items())
