"""XML of what nodes said: no character is in it that XML 1.0 cannot hold."""

from __future__ import annotations

from xml.etree import ElementTree as ET

_SPACE = "\t\n"


def document(root: ET.Element) -> str:
    """The whole document, indented; control characters and half characters are written as Python writes them."""
    for element in root.iter():
        for name, value in element.attrib.items():
            element.set(name, safe(value))
        element.text = safe(element.text) if element.text else element.text
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def safe(text: str) -> str:
    """Text that every XML reader takes (Char of https://www.w3.org/TR/xml/#charsets)."""
    return "".join(c if _allowed(c) else repr(c)[1:-1] for c in text)


def _allowed(c: str) -> bool:
    return c in _SPACE or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
