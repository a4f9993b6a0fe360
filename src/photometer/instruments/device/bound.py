"""What bounds a statement, in words: the host that launches, the memory, the arithmetic, or waiting. Pure."""

from __future__ import annotations

from photometer.model.device_measurement import Peak
from photometer.model.units import format_seconds

# One side bounds a statement when it takes this much longer than the other; nearer than that, both count.
CLEARLY_LONGER = 1.1
# From this share of a measured peak on, that resource is what bounds the device. Kernels that stream memory reach 85
# to 95 % of the copy rate; 60 % leaves room for those that are a little off.
NEAR_PEAK = 0.6


def bound_in_words(
    host_seconds: float,
    device_seconds: float | None,
    *,
    cold_seconds: float | None = None,
    synchronises: bool = False,
    bytes_per_run: float | None = None,
    flops_per_run: float | None = None,
    peak: Peak | None = None,
) -> str:
    if not device_seconds:
        return "no device work was seen"
    times = f"kernels {_short(device_seconds)}, host {_short(host_seconds)}"
    if synchronises:
        return f"bound by waiting: each run waits for the device ({times} with the wait)"
    if host_seconds > CLEARLY_LONGER * device_seconds:
        return f"launch-bound: {times}"
    shares = shares_of_peak(device_seconds, cold_seconds or device_seconds, bytes_per_run, flops_per_run, peak)
    word = "device-bound" if device_seconds > CLEARLY_LONGER * host_seconds else "bound by host and device alike"
    if not shares:
        return f"{word}: {times}"
    what, share = max(shares.items(), key=lambda item: item[1])
    told = ", ".join(f"{value * 100:.0f} % of the {_CEILINGS[name]}" for name, value in shares.items())
    if share >= NEAR_PEAK:
        return f"{what}-bound: {told}; {times}"
    return f"{word}, yet by neither memory nor arithmetic: {told}; {times}"


_CEILINGS = {"memory": "copy rate measured on this card", "compute": "matrix rate measured on this card"}


def shares_of_peak(
    hot_seconds: float,
    cold_seconds: float,
    bytes_per_run: float | None,
    flops_per_run: float | None,
    peak: Peak | None,
) -> dict[str, float]:
    """Shares of the card's measured peaks, by resource, as far as they are known.

    Memory by the cold time: hot, the bytes may come from the cache, at more than the memory's rate.
    """
    shares = {}
    if peak is not None and bytes_per_run and peak.bytes_per_second:
        shares["memory"] = bytes_per_run / cold_seconds / peak.bytes_per_second
    if peak is not None and flops_per_run and peak.flops_per_second:
        shares["compute"] = flops_per_run / hot_seconds / peak.flops_per_second
    return shares


def _short(seconds: float) -> str:
    return format_seconds(seconds, 3)
