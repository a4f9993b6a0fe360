"""One file or folder per instrument. In: what to run. Out: a Measurement or InstructionCounts."""
