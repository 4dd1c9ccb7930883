"""XML of node output, without characters that XML 1.0 does not allow."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SPACE = "\t\n"


def xml_document(root: ET.Element) -> str:
    """The whole document, indented; control characters and surrogates are written as Python escapes."""
    _make_safe(root)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def parts(root: ET.Element, children: Iterable[ET.Element]) -> Iterator[str]:
    """The document of `root`, which is empty, with these children; yields one piece per child."""
    opened = xml_document(root).removesuffix(" />")
    yield f"{opened}>\n"
    for child in children:
        _make_safe(child)
        ET.indent(child, level=1)
        yield f"  {ET.tostring(child, encoding='unicode')}\n"
    yield f"</{root.tag}>"


def _make_safe(root: ET.Element) -> None:
    for element in root.iter():
        for name, value in element.attrib.items():
            element.set(name, safe(value))
        element.text = safe(element.text) if element.text else element.text


def safe(text: str) -> str:
    """Text that every XML reader accepts (Char of https://www.w3.org/TR/xml/#charsets)."""
    return "".join(c if _allowed(c) else repr(c)[1:-1] for c in text)


def _allowed(c: str) -> bool:
    return c in _SPACE or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
