"""Run by Alembic: carries out the migrations on the connection that `history/schema.py` hands over."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, render_as_batch=connection.dialect.name == "sqlite", transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
