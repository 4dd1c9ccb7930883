"""The version of the schema that this clusterctl writes; light, for those that read without SQLAlchemy."""

HEAD = "0004"
