"""Measured kernels, calibration and the models' errors on them."""
