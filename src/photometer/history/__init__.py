"""History: results of many commits in one database, what changed between them, and which commit changed it.

`store.py` is the door for reading, `recorder.py` writes what is being measured, `ingest.py` adds results files.
SQLAlchemy and Alembic are the extra `photometer[history]`; nothing here is imported before a store is asked for.
"""
