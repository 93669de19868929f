"""Peak memory of a process with libraries, for programs that answer bench/run."""

START = {"bytes": 0}


def peak_rss():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


def baseline():
    """Task: from now on memory_used() counts beyond the present peak."""
    START["bytes"] = peak_rss()
    return {}


def memory_used():
    """Peak memory beyond the baseline."""
    return peak_rss() - START["bytes"]
