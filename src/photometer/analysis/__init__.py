"""Measurements to finished tables and verdicts, as data: no text, no colour, and no torch."""
