"""rasdaemon: with -r it keeps a database of errors, in the layout of the real one (ras-record.c, table mc_event)."""

from __future__ import annotations

import os
import sqlite3

from .daemons import run_until_sigterm

DATABASE = "/var/lib/rasdaemon/ras-mc_event.db"
TABLE = (
    "create table if not exists mc_event (id INTEGER PRIMARY KEY, timestamp TEXT, err_count INTEGER, err_type TEXT, err_msg TEXT, label TEXT, mc INTEGER, "
    "top_layer INTEGER, middle_layer INTEGER, lower_layer INTEGER, address INTEGER, grain INTEGER, syndrome INTEGER, driver_detail TEXT)"
)


def main(argv: list[str], version: str) -> int:
    """Print the version, switch the events of the kernel on or off, or run until SIGTERM."""
    if "--version" in argv:
        print(f"rasdaemon {version}")
        return 0
    if {"--enable", "-e", "--disable", "-d"} & set(argv):
        return 0
    if {"-r", "--record"} & set(argv):
        os.makedirs(os.path.dirname(DATABASE), exist_ok=True)
        with sqlite3.connect(DATABASE) as database:
            database.execute(TABLE)
    return run_until_sigterm("rasdaemon")
