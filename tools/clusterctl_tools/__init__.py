"""How each tool of a node is called and how its output is read: one tool, one file.

A file holds the argument vectors of its tool, a parser and the typed result. It starts nothing: who calls the tool decides how. Standard library only,
Python 3.8: validators take it to nodes, filters of roles load it from the collection, the CLI imports it.
"""
