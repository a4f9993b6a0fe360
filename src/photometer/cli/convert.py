"""`photometer convert FILE…`: turns pickled results of torch.utils.benchmark into a results file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from photometer.cli.output_options import folder_option
from photometer.cli.printing import complain, show_rendered, show_text
from photometer.model.results_folder import RESULT_FILES, check_results_folder, make_results_folder


def register(app: typer.Typer) -> None:
    app.command("convert", help="Convert pickles of torch.utils.benchmark's results to a results file.")(convert)


def convert(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Pickles that torch.utils.benchmark wrote.")],
    output: Annotated[Path | None, folder_option("Folder for the results file (default: show the results).")] = None,
) -> None:
    from photometer.results import save
    from photometer.tables import Compare, shows_colour
    from photometer.torch_pickle import WARNING, load_torch_pickle

    complain(f"warning: {WARNING}")
    results = [result for path in files for result in load_torch_pickle(path)]
    if output is None:
        show_rendered(Compare(results).to_text(colour=shows_colour()))
        return
    check_results_folder(output)
    make_results_folder(output)
    file = output / RESULT_FILES[0]
    save(file, results)
    show_text(f"{file}: {len(results)} result{'' if len(results) == 1 else 's'}")
