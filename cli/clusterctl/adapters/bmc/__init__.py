"""Reading BMCs over Redfish, from the controller; nothing is ever written."""
