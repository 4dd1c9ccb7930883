"""dcgmi diag: the JSON of DCGM 3 (`DCGM GPU Diagnostic`) and 4 (`DCGM Diagnostic`), and the table of both."""

from __future__ import annotations

import re
from typing import Any

from clusterctl.core.parsers import dcgmi_table
from clusterctl.core.parsers.numbers import first_json, whole
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_TOOL = "dcgmi_diag"
_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_NAMES = {"gpu memory": "memory", "diagnostic": "diagnostic"}


def parse(text: str) -> tuple[Sample, ...]:
    """One sample `diag_<test>` per test and GPU: value 1.0 only for Pass, `status` DCGM's own word, `detail` its warnings and info, `codes` its errors.

    A test that is reported for the node as a whole (DCGM 3's deployment tests) has no device.

    Raises:
        UnparsableError: neither JSON nor table of a diagnostic, or cut off, or it holds no verdict.
    """
    if re.search(r"^[ \t]*\{", text, re.MULTILINE):
        samples = _from_json(text)
    elif re.search(r"^[ \t]*\|\s*Diagnostic\s*\|\s*Result", text, re.MULTILINE) or re.search(r"^\+-----", text, re.MULTILINE):
        samples = [sample(*row) for row in dcgmi_table.rows(text)]
    else:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        raise UnparsableError(tool=_TOOL, reason=f"neither JSON nor a table; it prints: {first[:200]}")
    if not samples:
        raise UnparsableError(tool=_TOOL, reason="it holds no verdict of any test")
    return tuple(samples)


def sample(test: str, device: str, status: str, detail: str, codes: tuple[int, ...] = ()) -> Sample:
    """The sample of one verdict."""
    metric = re.sub(r"\W+", "_", _NAMES.get(test.lower(), test.lower())).strip("_")
    passed = 1.0 if status == "Pass" else 0.0
    return Sample(f"diag_{metric}", passed, "pass", device=device, status=status, detail=detail, codes=codes)


def _from_json(text: str) -> list[Sample]:
    try:
        data = first_json(text)
    except ValueError as e:
        raise UnparsableError(tool=_TOOL, reason=f"the JSON is broken or cut off ({e})") from e
    root = next((data[k] for k in _ROOTS if k in data), None)
    if root is None:
        raise UnparsableError(tool=_TOOL, reason=f"JSON without {' or '.join(map(repr, _ROOTS))}")
    if not isinstance(root, dict) or not isinstance(root.get("test_categories"), list):
        error = root.get("runtime_error") or root.get("error") if isinstance(root, dict) else ""
        raise UnparsableError(tool=_TOOL, reason=f"no test_categories{f'; it prints: {error}' if error else ''}")
    samples: list[Sample] = []
    for category in root["test_categories"]:
        for test in _dicts(category, "tests"):
            samples += _from_test(test)
    return samples


def _from_test(test: dict[str, Any]) -> list[Sample]:
    name = str(test.get("name") or "unnamed")
    samples = []
    results = _dicts(test, "results")
    of_no_gpu = _of_no_gpu(test.get("test_summary"), results)
    for own in results:
        unexplained = own.get("status") != "Pass" and not own.get("warnings")
        result = own | {"warnings": of_no_gpu} if unexplained else own
        detail = "; ".join(_texts(result, "warnings") + _texts(result, "info"))
        codes = _codes(result)
        samples += [sample(name, device, str(result.get("status") or "no status"), detail, codes) for device in _devices(result)]
    summary = test.get("test_summary")
    if isinstance(summary, dict) and (not samples or all(s.status == "Pass" for s in samples)):
        status = str(summary.get("status") or "no status")
        if not samples or status != "Pass":
            samples.append(sample(name, "", status, "; ".join(_texts(summary, "warnings")), _codes(summary)))
    return samples or [sample(name, "", "no result", "")]


def _of_no_gpu(summary: object, results: list[dict[str, Any]]) -> list[object]:
    """The warnings that only the summary has, which are about no single GPU: DCGM 4.6 repeats those of all GPUs there."""
    warnings = summary.get("warnings") if isinstance(summary, dict) else None
    reported = {text for result in results for text in _texts(result, "warnings")}
    return [w for w in warnings if not reported.issuperset(_texts({"one": w}, "one"))] if isinstance(warnings, list) else []


def _devices(result: dict[str, Any]) -> list[str]:
    if "entity_id" in result:
        group = str(result.get("entity_group") or "gpu").lower()
        return [f"{group}{result['entity_id']}"]
    # DCGM 3.3 prints one result per GPU, with its number as text; of a deployment test, the number of one that it warns of.
    ids = [part.strip() for part in str(result.get("gpu_id", result.get("gpu_ids", ""))).split(",")]
    return [f"gpu{i}" for i in ids if whole(i) is not None] or [""]


def _dicts(parent: Any, key: str) -> list[dict[str, Any]]:
    children = parent.get(key) if isinstance(parent, dict) else None
    return [c for c in children if isinstance(c, dict)] if isinstance(children, list) else []


def _texts(result: dict[str, Any], key: str) -> list[str]:
    value = result.get(key)
    entries = value if isinstance(value, list) else [value] if value else []
    texts = [str(e.get("warning") or e.get("warnings") or e.get("info") or e) if isinstance(e, dict) else str(e) for e in entries]
    return [re.sub(r"\s+", " ", t).strip() for t in texts]


def _codes(result: dict[str, Any]) -> tuple[int, ...]:
    """`error_id` of each warning (DCGM 3.2: of the result), above 0, which is not an error. What is not a whole number is not a code; its text stays."""
    found = (w.get("error_id") for w in (result, *_dicts(result, "warnings")))
    return tuple(dict.fromkeys(i for i in found if isinstance(i, int) and not isinstance(i, bool) and i > 0))
