"""torch_gemm.py of the burn-in: a GPU multiplies the same matrices with PyTorch and compares every product with the first one, bit for bit.

The program is clusterctl's own (role burnin); it needs an interpreter that has PyTorch.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .json_lines import object_in

PROGRAM = "torch_gemm.py"
# Beside the agent, which runs in its folder; the interpreter is a setting.
INTERPRETER = "python3"
# Of both matrices and of the product: 512 MiB each. An H100 takes 12.7 ms for a product and 0.5 ms to compare it (docs/hardware-notes.md).
SIZE = 16384
NO_TORCH = 3

_SECONDS = "--seconds"
_DIGEST_LENGTH = 64


class TorchRun(NamedTuple):
    """What it printed about one GPU.

    Attributes:
        kind: what equal GPUs have in common: model, PyTorch, CUDA, driver, size of the matrices.
        rates_gflops: once a second, comparing included.
        products: how many were compared.
        differing: how many of them differed from the first one; None where the run ended without a count.
        first, last, again: SHA-256 of the first product, of the last one, and of one from matrices that were copied anew; empty where it ended before.
        error: what ended it, as PyTorch words it.
    """

    kind: Tuple[str, ...]
    rates_gflops: Tuple[float, ...]
    products: int
    differing: Optional[int]
    first: str
    last: str
    again: str
    error: str


def gemm_argv(gpu: int, seconds: int, *, interpreter: str = INTERPRETER, size: int = SIZE) -> Sequence[str]:
    """The command that loads one GPU, numbered by PCI address as nvidia-smi does."""
    return ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", interpreter, PROGRAM, "--gpu", str(gpu), _SECONDS, str(seconds), "--size", str(size))


def version_argv(interpreter: str = INTERPRETER) -> Sequence[str]:
    """Its version is that of PyTorch."""
    return (interpreter, PROGRAM, "--version")


def requested_s(argv: Sequence[str]) -> float:
    """The run time that `gemm_argv` requested; 0 for another command."""
    words = list(argv)
    return float(words[words.index(_SECONDS) + 1]) if _SECONDS in words[:-1] else 0.0


def read_run(text: str) -> TorchRun:
    """The output of a run, complete or not.

    Raises:
        ValueError: a line is not one of its lines, they are not in the order of one run, or none names the GPU or an error.
    """
    head: Optional[Dict[str, Any]] = None
    end: Dict[str, Any] = {}
    error = ""
    rates: List[float] = []
    products, differing = 0, None
    for line in text.splitlines():
        if not line.lstrip().startswith("{"):
            continue  # libraries print lines of their own
        values = object_in(line)
        if "error" in values:
            error = _of(values, "error", str)
        elif "schema_version" in values:
            _require_order(head is None and not rates and not end)
            head = values
        elif "gflops" in values or "first" in values:
            now_products, now_differing = _counts(values)
            _require_order(not end and now_products >= products and now_differing >= (differing or 0))
            products, differing = now_products, now_differing
            if "gflops" in values:
                rates.append(float(_of(values, "gflops", (int, float))))
            else:
                end = values
    if head is None and not error:
        raise ValueError("it has no line that names the GPU")
    return TorchRun(
        kind=_kind(head) if head else (),
        rates_gflops=tuple(rates),
        products=products,
        differing=differing,
        first=_digest(end, "first"),
        last=_digest(end, "last"),
        again=_digest(end, "again"),
        error=error,
    )


def _kind(head: Dict[str, Any]) -> Tuple[str, ...]:
    """Complete: a GPU whose kind is not known would be compared with nobody."""
    words = [str(_of(head, name, str)) for name in ("device", "torch", "cuda", "driver", "dtype")]
    if not words[0] or not words[1]:
        raise ValueError("it does not name the GPU or PyTorch")
    return (*words, str(_of(head, "size", int)))


def _of(values: Dict[str, Any], name: str, kind: Any) -> Any:
    value = values.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError("its {} is {!r}".format(name, value))  # noqa: TRY004 one kind of error for all bad output
    return value


def _counts(values: Dict[str, Any]) -> Tuple[int, int]:
    products, differing = _of(values, "products", int), _of(values, "differing", int)
    if not 0 <= differing <= products:
        raise ValueError("{} of {} products differ".format(differing, products))
    return products, differing


def _require_order(kept: bool) -> None:
    """Counts of one run never fall: where they do, an error could stand in a line that is read no more."""
    if not kept:
        raise ValueError("its lines are not in the order of one run")


def _digest(values: Dict[str, Any], name: str) -> str:
    if not values:
        return ""
    found = str(_of(values, name, str))
    if len(found) != _DIGEST_LENGTH or set(found) - set("0123456789abcdef"):
        raise ValueError("its {} is not a digest".format(name))
    return found
