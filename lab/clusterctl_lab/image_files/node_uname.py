# Appended to sitecustomize.py of the node: what Python programs read of the kernel is what the program uname prints (simulator/uname.py).
def _show_running_kernel():
    import os

    try:
        with open("/run/clusterctl-lab/kernel-release", encoding="utf-8") as file:
            release = file.read().strip()
    except OSError:
        return
    real = os.uname
    os.uname = lambda: os.uname_result([release if i == 2 else field for i, field in enumerate(real())])


_show_running_kernel()
