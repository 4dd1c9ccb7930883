"""One self-contained HTML page that tells the story of a run."""
