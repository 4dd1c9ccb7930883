"""Metrics in Prometheus' exposition format, for node exporter's textfile collector. The only import of prometheus_client."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest


class MetricsText:
    """Gauges whose names start with `clusterctl_` and a prefix; each has the label `target` first."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = f"clusterctl_{prefix}"
        self._registry = CollectorRegistry()

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """A new gauge."""
        return Gauge(self._prefix + name, text, ("target", *labels), registry=self._registry)

    def render(self) -> str:
        """All of them."""
        text: str = generate_latest(self._registry).decode()
        return text
