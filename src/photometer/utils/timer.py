"""What torch.utils.benchmark.utils.timer offers: the Timer, its clock and its languages."""

from photometer.instruments.clock import timer
from photometer.instruments.cpp.remote_loop import RemoteLoop as CPPTimer
from photometer.model.task import Language
from photometer.timing import Timer, TimerClass

__all__ = ["CPPTimer", "Language", "Timer", "TimerClass", "timer"]
