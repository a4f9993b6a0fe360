"""The frozen nouns that travel between the stages, and the file they are kept in."""
