"""The durable state: SQLAlchemy 2 + Alembic; SQLite by default, PostgreSQL by URL."""
