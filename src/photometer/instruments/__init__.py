"""One file or folder per instrument. In: what to run. Out: a Measurement, InstructionCounts or their like."""
