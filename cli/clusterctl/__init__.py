"""Bring racks of bare-metal GPU nodes into service: apply, verify, burn in, admit."""
