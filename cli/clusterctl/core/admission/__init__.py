"""May a node serve? The decision, and the record of what it rests on."""
