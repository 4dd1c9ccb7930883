"""Pages of reports of any size, drawn in a browser and measured."""
