"""Tables: one function per format, from a Table to text.

`table.py` is what most of photometer shows: columns with a kind, rows, notes; `as_text`, `as_markdown`, `as_html` and
`as_csv` write it. The tables of `photometer.Compare`, with the layout of torch's, are written by `compare_terminal` and
`compare_formats`.
"""
