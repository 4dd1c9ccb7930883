"""Each module or package hides one outside thing: Ansible, SSH, a BMC, a database, a scheduler, the clock."""
