"""AbFindings: the request and results of one `ab`, as kept in a results file and a history store."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from photometer.analysis.ranking import Ranking
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.comparing.statement_counts import StatementCount
    from photometer.comparing.statements import AbRequest
    from photometer.model.results_format import Recordable


@dataclasses.dataclass(frozen=True)
class AbFindings:
    """`id` is the same wherever they are kept, so that a store that also gets the file has them once."""

    request: AbRequest
    ranking: Ranking
    counted: tuple[StatementCount, ...] = ()
    memories: tuple[MemoryMeasurement, ...] = ()
    id: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def header(self) -> dict[str, dict[str, object]]:
        """Return the header of a results file."""
        request = self.request
        return {
            "ab": {
                "id": self.id,
                "statements": [contender.stmt for contender in request.contenders],
                "setups": [contender.setup for contender in request.contenders],
                "language": request.language.name.lower(),
                "num_threads": request.num_threads,
            }
        }

    @property
    def records(self) -> list[Recordable]:
        return [self.ranking, *(each.counts for each in self.counted), *self.memories]

    def write(self, path: Path) -> None:
        """Write a results file; replace an existing one."""
        from photometer.instruments.machine_facts import gather_machine
        from photometer.model.results_file import ResultsFile

        ResultsFile.create(path, self.header, machine=gather_machine(), records=self.records, overwrite=True)

    def store(self, place: str) -> None:
        """Add them to a history store."""
        from photometer.history.statements import store_ab
        from photometer.instruments.machine_facts import gather_machine
        from photometer.model.results_format import make_header

        header = make_header(gather_machine(), self.header)
        store_ab(place, header, [to_record(record) for record in self.records])
