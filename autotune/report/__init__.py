"""The report of a run: page, tables and figures."""
