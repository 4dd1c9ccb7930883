"""How each tool of a node is called and how its output is read: one tool, one file.

A file holds the argument vectors of its tool, a parser and the typed result. It starts nothing: who calls the tool decides how; only
`redfish` reaches out, because HTTPS is how a BMC is called. Standard library only, Python 3.8: validators take it to nodes, filters and modules of
roles load it from the collection, the CLI imports it.
"""
