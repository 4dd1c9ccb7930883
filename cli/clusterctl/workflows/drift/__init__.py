"""The drift check: validate again, compare with what was admitted, record, report, drain."""
