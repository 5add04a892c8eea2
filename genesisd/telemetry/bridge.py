"""The same values for prometheus_client, which brings the process_* collector and the reference rendering."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from genesisd.telemetry import names
from genesisd.telemetry.families import Kind
from genesisd.telemetry.metrics import Metrics


class MetricsCollector(Collector):
    """Shows ``metrics`` to a prometheus_client registry."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Every family, as prometheus_client's own objects would give it."""
        for family in names.FAMILIES:
            counter = family.kind is Kind.COUNTER
            name = family.name.removesuffix("_total") if counter else family.name
            metric = Metric(name, family.help, family.kind.value)
            for series in self._metrics.series(family):
                for sample, label_names, values, value in series.samples():
                    metric.add_sample(sample, dict(zip(label_names, values, strict=True)), value)
            yield metric


def registry(metrics: Metrics) -> CollectorRegistry:
    """A registry of our own: the process-wide default one would carry whatever a library registers."""
    own = CollectorRegistry()
    own.register(MetricsCollector(metrics))
    ProcessCollector(registry=own)
    return own


def process_registry() -> CollectorRegistry:
    """Only process_*."""
    own = CollectorRegistry()
    ProcessCollector(registry=own)
    return own
