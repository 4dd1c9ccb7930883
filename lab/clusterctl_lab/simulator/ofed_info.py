"""ofed_info: the release of the OFED stack."""

from __future__ import annotations


def main(argv: list[str], version: str) -> int:
    """Print the release, with -s only its short name in the format of DOCA-OFED. `version` is that of ofed-scripts, e.g. 25.10.OFED.25.10.1.7.1."""
    numbers = version.partition(".OFED.")[2].split(".")
    print(f"OFED-internal-{'.'.join(numbers[:2])}-{'.'.join(numbers[2:])}:")
    if "-s" not in argv:
        print("\n(simulated)")
    return 0
