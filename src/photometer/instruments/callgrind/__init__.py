"""Instruction counts by Valgrind's Callgrind: find the tool, read what it writes, and turn that into figures."""
