"""Tables and messages rewritten, by no change event: upkeep, comparisons, repairs, erasures."""
