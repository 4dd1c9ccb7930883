"""Raw records and profiles -> results: readings, limits, attribution. Names no gate."""
