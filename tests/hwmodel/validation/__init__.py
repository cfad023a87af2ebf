"""Tests of measured kernels, error reports and calibration."""
