"""index_repository.py FOLDER: writes the `Packages` file of a flat apt repository."""

import hashlib
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
entries = []
for deb in sorted(folder.glob("*.deb")):
    control = subprocess.run(["dpkg-deb", "--field", str(deb)], check=True, capture_output=True, text=True).stdout
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    # The name as it is: apt encodes it for the URI and decodes it again.
    entries.append(f"{control}Filename: ./{deb.name}\nSize: {deb.stat().st_size}\nSHA256: {digest}\n")
(folder / "Packages").write_text("\n".join(entries), encoding="utf-8")
