"""Pure decisions: no I/O, no store, no clock, no network."""
