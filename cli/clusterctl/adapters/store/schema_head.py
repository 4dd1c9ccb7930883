"""The schema version that this clusterctl writes; a separate module for code that reads without SQLAlchemy."""

HEAD = "0022"
