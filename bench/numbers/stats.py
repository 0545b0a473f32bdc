"""Statistics on scipy: quantiles, means, shares, differences, and one state or two.

A quantile is read by linear interpolation between neighbouring order statistics (definition 7 of
Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996; also what numpy, vllm bench and
AIPerf use). Its interval is distribution-free: two order statistics that hold the true quantile
between them with at least 95 % confidence and at most 2.5 % risk at either side
(`scipy.stats.quantile_test`; Conover, *Practical Nonparametric Statistics*, 3.2). Where the sample
has no such pair, the quantile is not shown: P90 needs 36 values, P95 72, P99 368.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from bench.summary import Interval, Mean, Quantiles

CONFIDENCE = 0.95
TAILS = {"p90": 0.90, "p95": 0.95, "p99": 0.99}
APART = 0.15
"""Two states lie at least this share of the lower one apart: beyond the 3–8 % by which repeats of
one state differ."""
BAND = 3.0
"""The empty band between two states is this many times as wide as the wider state."""


def carries(n: int, share: float) -> bool:
    """Whether `n` values hold a 95 % interval of the quantile at `share`.

    They do when neither "all of them lie below it" nor "all of them lie above it" has a chance
    of more than 2.5 %.
    """
    risk = (1 - CONFIDENCE) / 2
    return n > 0 and max(share, 1 - share) ** n <= risk


def quantiles(values: Sequence[float], *, independent: bool = True) -> Quantiles:
    """Median, tails that the sample can carry, best and worst of `values`.

    The median is given from one value on, its interval from six. Pass ``independent=False`` for
    values that come in runs from the same request (gaps): no interval is claimed for those.
    """
    if not values:
        return Quantiles(n=0)
    data = np.asarray(values, dtype=float)
    found: dict[str, float] = {"p50": float(stats.quantile(data, 0.5))}
    intervals: dict[str, Interval] = {}
    for name, share in {"p50": 0.5, **TAILS}.items():
        if not carries(len(data), share):
            continue
        found[name] = float(stats.quantile(data, share))
        if independent:
            test = stats.quantile_test(data, q=0, p=share)
            bounds = test.confidence_interval(confidence_level=CONFIDENCE)
            intervals[name] = Interval(float(bounds.low), float(bounds.high))
    return Quantiles(
        n=len(data),
        p50=found["p50"],
        p90=found.get("p90"),
        p95=found.get("p95"),
        p99=found.get("p99"),
        best=float(data.min()),
        worst=float(data.max()),
        intervals=intervals,
    )


def mean(values: Sequence[float]) -> Mean | None:
    """Mean ± sample standard deviation (n − 1) with its t interval; None of no values."""
    if not values:
        return None
    data = np.asarray(values, dtype=float)
    middle = float(data.mean())
    if len(data) < 2:
        return Mean(n=1, mean=middle)
    sd = float(data.std(ddof=1))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(data) - 1)) * sd / math.sqrt(len(data))
    return Mean(n=len(data), mean=middle, sd=sd, interval=Interval(middle - reach, middle + reach))


def wilson(ok: int, n: int) -> Interval | None:
    """The Wilson score interval of a share, `ok` of `n`; None of nothing tried."""
    if n == 0:
        return None
    bounds = stats.binomtest(ok, n).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(float(bounds.low), float(bounds.high))


def median_interval(values: Sequence[float], *, seed: int = 1) -> Interval | None:
    """Bootstrap interval (percentile method, 2,000 resamples, seeded) of the median."""
    if len(values) < 2:
        return None
    return _bootstrap((values,), lambda x, axis: np.median(x, axis=axis), seed)


def median_difference(
    a: Sequence[float], b: Sequence[float], *, seed: int = 1
) -> tuple[float, Interval | None] | None:
    """By how many per cent the median of `a` exceeds that of `b`, with its bootstrap interval.

    None when either is empty or the median of `b` is 0; no interval from single values.
    """
    if not a or not b or float(np.median(b)) == 0:
        return None
    percent = 100 * (float(np.median(a)) / float(np.median(b)) - 1)
    if len(a) < 2 or len(b) < 2:
        return percent, None

    def ratio(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(100 * (np.median(x, axis=axis) / np.median(y, axis=axis) - 1))

    return percent, _bootstrap((a, b), ratio, seed)


def _bootstrap(
    data: Sequence[Sequence[float]], statistic: Callable[..., np.ndarray], seed: int
) -> Interval:
    result = stats.bootstrap(
        tuple(np.asarray(sample, dtype=float) for sample in data),
        statistic,
        n_resamples=2000,
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    bounds = result.confidence_interval
    return Interval(float(bounds.low), float(bounds.high))


def mean_difference(a: Mean, b: Mean) -> tuple[float, Interval | None]:
    """By how many per cent the mean of `a` exceeds that of `b`, with Welch's interval.

    The interval is taken on the logarithm of the ratio (delta method, Welch–Satterthwaite degrees
    of freedom), so that "a over b" and "b over a" say the same. Both means must be positive.
    """
    percent = 100 * (a.mean / b.mean - 1)
    if a.sd is None or b.sd is None:
        return percent, None
    parts = [(m.sd or 0.0) ** 2 / (m.n * m.mean**2) for m in (a, b)]
    if sum(parts) == 0:
        return percent, Interval(percent, percent)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (m.n - 1) for part, m in zip(parts, (a, b), strict=True)
    )
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(sum(parts))
    ratio = math.log(a.mean / b.mean)
    return percent, Interval(
        100 * (math.exp(ratio - reach) - 1), 100 * (math.exp(ratio + reach) - 1)
    )


def clusters(values: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """One state or two: `values`, sorted, in one group or in two.

    Made for repeats of the same measurement. A machine that flips between a fast and a slow state
    gives two tight groups with nothing between them; their average describes neither. They are two
    when the widest empty band between neighbours is at least 15 % of the value below it and at
    least three times as wide as the wider group. Positive values only.
    """
    ordered = tuple(sorted(values))
    if len(ordered) < 2:
        return (ordered,) if ordered else ()
    width, cut = max(
        (ordered[place] - ordered[place - 1], place) for place in range(1, len(ordered))
    )
    low, high = ordered[:cut], ordered[cut:]
    spread = max(low[-1] - low[0], high[-1] - high[0])
    if width >= APART * low[-1] and width >= BAND * spread:
        return low, high
    return (ordered,)
