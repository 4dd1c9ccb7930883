"""Raw records and profiles -> results: readings, limits, attribution. Knows no gate by name."""
