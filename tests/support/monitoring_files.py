"""What contrib/grafana and contrib/prometheus ask of Prometheus."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES_FILE = ROOT / "contrib" / "prometheus" / "clusterctl.rules.yml"
DASHBOARDS = sorted((ROOT / "contrib" / "grafana").glob("*.json"))
_METRIC = re.compile(r"\b((?:clusterctl|DCGM_FI|node)_\w+)(?:\{([^}]*)\})?")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


@dataclass(frozen=True)
class Query:
    """An expression in PromQL; variables of a dashboard are replaced by names."""

    where: str
    expression: str

    @property
    def metrics(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Metric -> the labels by which it is selected. What stands in quotes, or after `by` and `on`, is not a metric."""
        bare = re.sub(r"\b(by|on|without|group_left)\s*\([^)]*\)", "", self.expression)
        for name, selector in _METRIC.findall(bare):
            yield name, frozenset(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", re.sub(r'"[^"]*"', '""', selector)))


def rules() -> list[dict[str, Any]]:
    """The alerts."""
    return [rule for group in load_yaml(RULES_FILE.read_text())["groups"] for rule in group["rules"]]


def dashboards() -> dict[str, dict[str, Any]]:
    """File name -> dashboard."""
    return {file.name: json.loads(file.read_text()) for file in DASHBOARDS}


def queries() -> list[Query]:
    """All expressions of rules, panels, annotations and variables."""
    found = [Query(rule["alert"], rule["expr"]) for rule in rules()]
    for name, board in dashboards().items():
        found += [Query(f"{name}: {p['title']}", t["expr"]) for p in board["panels"] for t in p.get("targets", ())]
        found += [Query(f"{name}: {a['name']}", a["expr"]) for a in board["annotations"]["list"] if "expr" in a]
        found += [
            Query(f"{name}: ${v['name']}", m[1]) for v in board["templating"]["list"] if (m := re.match(r"label_values\((\w+)", _text(v)))
        ]
    return [Query(q.where, _VARIABLE.sub(r"\1", q.expression)) for q in found]


def _text(variable: dict[str, Any]) -> str:
    query = variable["query"]
    return str(query["query"] if isinstance(query, dict) else query)
