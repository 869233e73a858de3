"""From samples to the figures of a row."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.model import Figures, Sample

MIN_SAMPLES = {"p95": 20, "p99": 100}  # below these the figure would only be the slowest run


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of values in rising order."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def latency(samples: Sequence[Sample]) -> Figures:
    """p50, p95, p99 in nanoseconds, as far as there are samples enough."""
    ordered = sorted(sample["ns"] for sample in samples)
    figures = {"p50": statistics.median(ordered)}
    for key, share in (("p95", 0.95), ("p99", 0.99)):
        if len(ordered) >= MIN_SAMPLES[key]:
            figures[key] = percentile(ordered, share)
    return figures


def rate(samples: Sequence[Sample]) -> Figures:
    """Median and worst MB/s, and the largest growth of the reader's memory."""
    rates = sorted(sample["bytes"] / sample["ns"] * 1000 for sample in samples)
    figures = {"rate": statistics.median(rates), "worst": rates[0]}
    grown = [sample["grown_kib"] for sample in samples if "grown_kib" in sample]
    if grown:
        figures["grown"] = max(grown)
    return figures


def paired_ratio(own: Mapping[int, float], floor: Mapping[int, float]) -> float | None:
    """The median of the ratios of common rounds: what disturbs one disturbs both."""
    pairs = [own[turn] / floor[turn] for turn in own.keys() & floor.keys() if floor[turn] > 0]
    return statistics.median(pairs) if pairs else None


def show_time(ns: float) -> str:
    if abs(ns) < 1e6:
        return f"{ns / 1e3:.0f} µs"
    if abs(ns) < 1e9:
        return f"{ns / 1e6:.{2 if abs(ns) < 1e7 else 1}f} ms"
    return f"{ns / 1e9:.2f} s"


def show_ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"


def show_rate(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}"


def show_kib(kib: float) -> str:
    return f"{kib:.1f} KiB" if abs(kib) < 1024 else f"{kib / 1024:.1f} MiB"
