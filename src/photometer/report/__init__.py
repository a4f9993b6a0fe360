"""A finished table or verdict to characters: terminal, Markdown, HTML, CSV, JSON. Nothing here imports torch."""
