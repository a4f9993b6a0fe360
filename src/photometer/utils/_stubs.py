"""What torch.utils.benchmark.utils._stubs offers: the shape of a class that Timer can be given as `_timer_cls`."""

from photometer.timing import TimerClass

__all__ = ["TimerClass"]
