"""The figures of the report of hypotheses."""
