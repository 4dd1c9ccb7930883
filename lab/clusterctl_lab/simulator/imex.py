"""nvidia-imex: -c PATH, --version."""

from __future__ import annotations

import argparse
import sys

from . import imex_domain, state
from .imex_config import CONFIG_FILE, ImexConfigError, read_config


def main(argv: list[str], version: str) -> int:
    """Print the version, or run the daemon until SIGTERM."""
    parser = argparse.ArgumentParser(prog="nvidia-imex", allow_abbrev=False)
    parser.add_argument("-c", dest="config", default=CONFIG_FILE)
    parser.add_argument("-v", "--version", action="store_true")
    options, others = parser.parse_known_args(argv[1:])
    if others:
        print(f"nvidia-imex: not simulated: {' '.join(others)}", file=sys.stderr)
        return 2
    if options.version:
        print(f"IMEX version is: {version} (simulated)")
        return 0
    driver = state.driver_version()
    if driver != version:
        print(f"IMEX version {version} does not match driver version {driver or 'none'}", file=sys.stderr)
        return 1
    try:
        return imex_domain.run_daemon(read_config(options.config), version)
    except ImexConfigError as e:
        print(f"nvidia-imex: {e}", file=sys.stderr)
        return 1
