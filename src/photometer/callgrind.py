"""Instruction counts: tasks to count, their results, and call stacks of the executed instructions."""

from __future__ import annotations

from photometer.analysis.flame_tree import FrameChange as FrameChange, frame_changes as frame_changes
from photometer.instruments.callgrind.call_tree import folded_stacks as folded_stacks
from photometer.instruments.callgrind.count_task import CountedTask as CountedTask, CountTask as CountTask
from photometer.instruments.callgrind.counter import count_many as count_many, count_statement as count_statement
from photometer.instruments.callgrind.layout_band import LayoutBand as LayoutBand, layout_bands as layout_bands
from photometer.instruments.callgrind.profile import CallgrindProfile as CallgrindProfile
from photometer.instruments.processor_instructions import perf_refusal as perf_refusal
from photometer.model.instruction_counts import InstructionFigures as InstructionFigures
from photometer.model.run_figures import ProcessorCounts as ProcessorCounts
from photometer.report.flame_graph import render_flame_difference as render_flame_difference
from photometer.session.layout import Layout as Layout, random_layouts as random_layouts

__all__ = [
    "CallgrindProfile",
    "CountTask",
    "CountedTask",
    "FrameChange",
    "InstructionFigures",
    "Layout",
    "LayoutBand",
    "ProcessorCounts",
    "count_many",
    "count_statement",
    "folded_stacks",
    "frame_changes",
    "layout_bands",
    "perf_refusal",
    "random_layouts",
    "render_flame_difference",
]
