"""Every recorded output of a tool that has a parser, read: `make recorded`."""
