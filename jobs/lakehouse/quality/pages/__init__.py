"""The data-quality page of a source: read from `quality.*`, made pure, written as one file."""
