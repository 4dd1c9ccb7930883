"""One operation per module or folder: the only floor where side effects happen in an order."""
