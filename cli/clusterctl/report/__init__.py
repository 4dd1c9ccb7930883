"""One self-contained HTML page about one run: what was done, found and decided."""
