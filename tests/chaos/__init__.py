"""Kill `provision` at every step boundary; whatever it left, the same command must reach the state of an undisturbed run."""
