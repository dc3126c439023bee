"""The five steps of a run, each one function of a `StepContext`."""
