"""Entry point of Alembic: migrations run on the connection of `schema.upgrade`."""

from __future__ import annotations

from alembic import context

from clusterctl.adapters.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
