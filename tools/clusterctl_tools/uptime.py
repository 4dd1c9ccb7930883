"""How long a machine has been up, by its first process: in a container, /proc/uptime is that of its host."""

# The time since the boot in /proc/PID/stat is in USER_HZ, 100 on every architecture that we support: proc_pid_stat(5), starttime.
_TICKS_PER_S = 100
_STARTTIME = 19


def uptime_s(uptime: str, first_process: str) -> float:
    """From the text of /proc/uptime and of /proc/1/stat.

    Raises:
        ValueError, IndexError: a text has another form.
    """
    # The name of the process, in parentheses, may contain spaces.
    started_s = int(first_process.rpartition(")")[2].split()[_STARTTIME]) / _TICKS_PER_S
    return max(0.0, round(float(uptime.split(maxsplit=1)[0]) - started_s, 1))
