"""Lemons: machines and parts that fail again and again, whatever each repair and burn-in reported. Pure."""
