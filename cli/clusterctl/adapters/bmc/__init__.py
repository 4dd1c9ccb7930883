"""Talks to BMCs over Redfish from the controller: reads them, and switches the power of their hosts."""
