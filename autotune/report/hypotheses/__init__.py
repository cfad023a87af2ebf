"""The report of a run of hypotheses: verdicts, figures and the maintainer's page."""
