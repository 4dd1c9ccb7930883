"""From declared to admitted: check, plan, un-admit, apply, reboot, verify, burn in, decide, admit. One step, one file."""
