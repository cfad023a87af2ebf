"""The six hypotheses, their union and the best known: claims, runs and verdicts."""
