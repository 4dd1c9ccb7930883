"""The mutation test: a setting of a lab node is changed behind Ansible's back; it must be told, then repaired by its role alone."""
