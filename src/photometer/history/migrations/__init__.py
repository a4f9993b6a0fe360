"""Alembic's scripts: how a store of each released schema becomes one of the newest. `history/schema.py` runs them."""
