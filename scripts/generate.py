"""Writes all generated files of the tree; `--check` fails if one of them is stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GENERATORS = (
    "role_readmes.py",
    "role_table.py",
    "cli_reference.py",
    "profile_table.py",
    "dcgm_error_page.py",
    "next_actions_page.py",
    "module_table.py",
    "configuration_table.py",
    "document_schemas.py",
    "assumptions.py",
    "filter_docs.py",
    "ansible_modules.py",
)


def main() -> int:
    """Run all generators with the given arguments. Returns 1 if one of them fails."""
    codes = [subprocess.run([sys.executable, str(HERE / name), *sys.argv[1:]], check=False).returncode for name in GENERATORS]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
