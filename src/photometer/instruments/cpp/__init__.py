"""C++ snippets: many compiled at once, kept on disk, called as plain C functions.

In: snippets (`snippet`). `build` groups them into few files (`compile_units`), writes these (`source`), compiles
them in parallel (`compiler`), finds the snippet of each error (`diagnostics`) and keeps the libraries (`cache`). Out: a
library and a symbol, for `photometer.worker.native_loop` to call.
"""
