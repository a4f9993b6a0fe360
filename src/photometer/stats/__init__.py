"""Numbers in, numbers out: no module here knows what a benchmark is or imports torch."""
