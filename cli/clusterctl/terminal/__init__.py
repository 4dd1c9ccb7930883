"""The only package that prints: results to stdout, progress and errors to stderr."""
