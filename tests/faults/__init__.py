"""The drill that grades detection: racks with one known fault, and healthy ones with noise, through validators and judge."""
