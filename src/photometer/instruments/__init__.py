"""The near side: one file or folder an instrument. In: what to run. Out: a Measurement or InstructionCounts."""
