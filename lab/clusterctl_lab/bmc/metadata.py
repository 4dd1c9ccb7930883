"""What a Redfish service publishes about itself: versions, the OData service document and its metadata, and the schema of a resource. Pure."""

from __future__ import annotations

from typing import Any

ROOT = "/redfish/v1"
METADATA = f"{ROOT}/$metadata"
# Readable without a login, as the specification requires (DSP0266, "Authentication").
PUBLIC = frozenset({"/redfish", ROOT, f"{ROOT}/odata", METADATA})
ODATA_VERSION = "4.0"
SCHEMAS = "https://redfish.dmtf.org/schemas/v1"
# Of each schema a version that has all properties in use and that clients of some years ago support.
VERSIONS = {
    "AttributeRegistry": "v1_3_7",
    "Bios": "v1_2_0",
    "BootOption": "v1_0_4",
    "Chassis": "v1_15_0",
    "ComputerSystem": "v1_16_0",
    "LeakDetection": "v1_0_0",
    "LeakDetector": "v1_0_0",
    "LogEntry": "v1_10_0",
    "LogService": "v1_2_0",
    "Manager": "v1_13_0",
    "ManagerNetworkProtocol": "v1_8_0",
    "MessageRegistryFile": "v1_1_3",
    "Power": "v1_7_1",
    "ServiceRoot": "v1_11_0",
    "Session": "v1_3_0",
    "SessionService": "v1_1_8",
    "SoftwareInventory": "v1_4_0",
    "Thermal": "v1_7_1",
    "ThermalSubsystem": "v1_3_0",
    "UpdateService": "v1_9_0",
}

COLLECTIONS = (
    "BootOption",
    "Chassis",
    "ComputerSystem",
    "LeakDetector",
    "LogEntry",
    "LogService",
    "Manager",
    "MessageRegistryFile",
    "Session",
    "SoftwareInventory",
)


def type_name(kind: str) -> str:
    """The OData type of a resource; collections have no version."""
    return f"#{kind}.{VERSIONS[kind]}.{kind}" if kind in VERSIONS else f"#{kind}.{kind}"


def schema_link(body: dict[str, Any] | None) -> str:
    """The value of the Link header that points to the JSON schema of a resource; that of the metadata where the body has no type."""
    parts = str((body or {}).get("@odata.type", "")).lstrip("#").split(".")
    target = f"{SCHEMAS}/{'.'.join(parts[:-1])}.json" if len(parts) > 1 else METADATA
    return f"<{target}>; rel=describedby"


def service_document(children: list[str]) -> dict[str, Any]:
    """The OData service document: the service root and its direct children."""
    entries = [{"name": "Service", "kind": "Singleton", "url": f"{ROOT}/"}]
    entries += [{"name": name, "kind": "Singleton", "url": f"{ROOT}/{name}"} for name in children]
    return {"@odata.context": METADATA, "value": entries}


def metadata_xml() -> bytes:
    """The OData metadata document, with a reference to the schema of each kind of resource."""
    references = "".join(_reference(kind) for kind in (*VERSIONS, *(f"{kind}Collection" for kind in COLLECTIONS)))
    version = VERSIONS["ServiceRoot"]
    container = (
        '<edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">'
        f'<EntityContainer Name="Service" Extends="ServiceRoot.{version}.ServiceContainer"/></Schema></edmx:DataServices>'
    )
    head = '<?xml version="1.0" encoding="UTF-8"?><edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">'
    return f"{head}{references}{container}</edmx:Edmx>".encode()


def _reference(kind: str) -> str:
    names = [kind, *([f"{kind}.{VERSIONS[kind]}"] if kind in VERSIONS else [])]
    includes = "".join(f'<edmx:Include Namespace="{name}"/>' for name in names)
    return f'<edmx:Reference Uri="{SCHEMAS}/{kind}_v1.xml">{includes}</edmx:Reference>'
