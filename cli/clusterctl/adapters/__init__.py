"""Each module or package encapsulates one external system: Ansible, SSH, a BMC, a database, a scheduler, the clock."""
