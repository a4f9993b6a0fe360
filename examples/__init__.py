"""Small programs that show photometer at work: `python -m examples.simple_timeit`, and so on."""
