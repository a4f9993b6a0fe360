"""`photometer peaks`: what this machine can do per second, as --rates compares with. Measured once, and kept."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer

from photometer.cli.measuring_options import JsonRecords, Python
from photometer.cli.numbers import MOST_THREADS
from photometer.cli.printing import show_text
from photometer.model.records import to_record


class ElementType(str, enum.Enum):
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


def register(app: typer.Typer) -> None:
    app.command("peaks", help="Measure what this machine can do: a matrix product and a copy.")(peaks)


def peaks(
    num_threads: Annotated[
        list[int] | None,
        typer.Option(
            "--num-threads",
            "--threads",
            "-t",
            metavar="N",
            min=1,
            max=MOST_THREADS,
            help="Size of torch's thread pool (default: 1); repeat for more.",
        ),
    ] = None,
    dtype: Annotated[ElementType, typer.Option("--dtype", help="Element type of the matrices.")] = ElementType.FLOAT32,
    device: Annotated[str, typer.Option("--on-device", metavar="NAME", help="Device, such as cuda.")] = "cpu",
    again: Annotated[bool, typer.Option("--again", help="Measure again, even if a result is kept.")] = False,
    python: Python = None,
    as_json: JsonRecords = False,
) -> None:
    from photometer.instruments.peaks import check_device, peak_of
    from photometer.model.environment import Environment
    from photometer.report.rates_text import peak_text
    from photometer.session.session import Session

    with Session(Environment.current() if python is None else Environment(python)) as session:
        check_device(session, device)
        for count in num_threads or [1]:
            peak = peak_of(session, device=device, num_threads=count, dtype=dtype.value, again=again)
            show_text(json.dumps(to_record(peak)) if as_json else peak_text(peak))
