"""What engines have done, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from infogain.serve.engine import Engine

COUNTERS = {
    "requests": "requests that were taken",
    "answered": "requests that were answered",
    "failed": "requests that failed",
    "cancelled": "requests that were cancelled, or whose client went away",
    "late": "requests whose deadline passed",
    "turned_away": "requests that found the queue full",
    "rows": "texts that were finished",
    "tokens": "tokens that were committed",
    "steps": "steps of the loop",
    "token_forwards": "columns that ran through the model for finished texts",
}
GAUGES = {"waiting": "texts that wait", "in_flight": "texts that are being decoded"}


class EngineCollector(Collector):
    """Reads engines when it is asked."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self.engines = engines

    def collect(self) -> Iterator[Metric]:
        for name, meaning in COUNTERS.items():
            counter = CounterMetricFamily(f"infogain_{name}", meaning, labels=["model"])
            for model, engine in self.engines.items():
                counter.add_metric([model], getattr(engine.counts, name))
            yield counter
        for name, meaning in GAUGES.items():
            gauge = GaugeMetricFamily(f"infogain_{name}", meaning, labels=["model"])
            for model, engine in self.engines.items():
                gauge.add_metric([model], getattr(engine, name))
            yield gauge


def metrics_page(engines: Mapping[str, Engine]) -> tuple[bytes, str]:
    """The page, and its content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(EngineCollector(engines))
    return generate_latest(registry), CONTENT_TYPE_LATEST
