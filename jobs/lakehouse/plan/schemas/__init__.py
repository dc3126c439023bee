"""Types, schemas and statements: what the columns of a source's table are in silver."""
