"""The hardware, the problem, the plan and the cost models; no vendor heuristic, no Optuna."""
