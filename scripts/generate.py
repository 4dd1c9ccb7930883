"""Everything in the tree that is generated, in one command; `--check` fails where a file is stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GENERATORS = ("role_readmes.py", "role_table.py", "cli_reference.py", "profile_table.py")


def main() -> int:
    """Run the generators with the arguments given; the number of those that complain is no exit code, 1 is."""
    codes = [subprocess.run([sys.executable, str(HERE / name), *sys.argv[1:]], check=False).returncode for name in GENERATORS]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
