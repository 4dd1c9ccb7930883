"""Many workers on one queue: how much faster they are, and what is left when they, the server and the controller are killed."""
