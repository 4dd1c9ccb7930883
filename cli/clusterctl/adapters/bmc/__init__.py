"""Reads BMCs over Redfish from the controller; never writes."""
