"""From finished records to text: for terminals, pull requests, notebooks, browsers and other programs.

`*_text.py` write one kind of result each; `tables/` has the formats of tables; `page/` is the HTML report;
`notebook.py` is for notebooks; `flame_graph.py` draws SVG. Nothing here imports torch.
"""
