"""Cross-validated paths and calibration."""
