"""Cost models: predicted time of a plan."""
