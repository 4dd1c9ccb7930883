"""Pure: evidence + profile + baselines -> gate results."""
