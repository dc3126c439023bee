"""One message at a time: its document, its envelope, its place, and what becomes of it."""
