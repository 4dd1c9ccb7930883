"""One verb, one file: parse, call, render."""
