"""The local stack and the set-up of a machine."""
