"""The leak detectors of a liquid-cooled tray, as recorded trees of GB200 and GB300 have them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

DETECTORS = tuple(f"LeakDetector_{number}_{place}" for number in range(2) for place in ("ColdPlate", "Manifold"))


def leak_documents(chassis: str, wet: Mapping[str, str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Path -> type and content; `wet`: detector -> its state, where that is not OK."""
    thermal = f"{chassis}/ThermalSubsystem"
    detection = f"{thermal}/LeakDetection"
    collection = f"{detection}/LeakDetectors"
    members = [{"@odata.id": f"{collection}/{name}"} for name in DETECTORS]
    return {
        thermal: ("ThermalSubsystem", {"LeakDetection": {"@odata.id": detection}}),
        detection: ("LeakDetection", {"LeakDetectors": {"@odata.id": collection}}),
        collection: ("LeakDetectorCollection", {"Members": members, "Members@odata.count": len(members)}),
        **{f"{collection}/{name}": ("LeakDetector", _detector(wet.get(name, "OK"))) for name in DETECTORS},
    }


def _detector(state: str) -> dict[str, Any]:
    return {"DetectorState": state, "LeakDetectorType": "Moisture", "Status": {"State": "Enabled", "Health": state}}
