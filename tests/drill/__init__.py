"""A node fails in the middle of `provision`, on a lab rack; the others go on, and nothing untrue is recorded of it."""
