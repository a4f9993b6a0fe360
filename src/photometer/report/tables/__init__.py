"""Tables of measurements, as `photometer.Compare` shows them: one function per format, from a Table to text.

`terminal` is for terminals and logs, `markup` has Markdown and HTML, `csv_json` is for other programs. What a cell and
the legend say is the same in all of them: `cells`.
"""
