"""What schemas and statements say of a source's tables, and what that means for silver."""
