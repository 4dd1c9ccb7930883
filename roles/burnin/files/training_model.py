"""A small transformer that learns to count: the model of training_rank.py, and its data. Standard library and PyTorch, Python 3.8+.

All ranks draw the same weights from a fixed seed, and each its own sequences, so a run is repeated bit for bit where the kernels are deterministic.
Attention is written out in matrix products: the fused kernels of PyTorch are not deterministic backwards on a GPU.
"""

from __future__ import annotations

import math
from typing import Any

SEED = 20261
TOKENS = 512
HEAD_WIDTH = 64
# Each token is followed by the one so far behind it.
STEP = 7
RANDOM_SHARE = 0.5
LEARNING_RATE = 3e-4


def new_model(torch: Any, width: int, layers: int) -> Any:
    """The model on the CPU, equal on all ranks."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.joined, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, states: Any) -> Any:
            count, length, _ = states.shape
            heads = self.joined(self.first(states)).view(count, length, 3, width // HEAD_WIDTH, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
            later = torch.ones(length, length, dtype=torch.bool, device=states.device).triu(1)
            scores = (heads[0] @ heads[1].transpose(-1, -2) / math.sqrt(HEAD_WIDTH)).masked_fill(later, -math.inf)
            attended = (scores.softmax(-1).to(heads.dtype) @ heads[2]).transpose(1, 2).reshape(count, length, width)
            states = states + self.out(attended)
            return states + self.narrow(nn.functional.gelu(self.wide(self.second(states))))

    torch.manual_seed(SEED)
    return nn.Sequential(nn.Embedding(TOKENS, width), *(Block() for _ in range(layers)), nn.LayerNorm(width), nn.Linear(width, TOKENS))


def sequences(torch: Any, step: int, rank: int, count: int, length: int) -> tuple[Any, Any]:
    """What a rank learns from in a step: tokens that count, and the one that follows each. On the CPU, so equal for all GPUs.

    Half of those that follow are random: the loss stays above 0, where two trainings can be compared.
    """
    draw = torch.Generator().manual_seed(SEED + 1_000_003 * step + rank)
    begins = torch.randint(TOKENS, (count, 1), generator=draw)
    counted = (begins + STEP * torch.arange(length + 1)) % TOKENS
    random = torch.randint(TOKENS, (count, length), generator=draw)
    return counted[:, :-1], torch.where(torch.rand(count, length, generator=draw) < RANDOM_SHARE, random, counted[:, 1:])


class Gradients:
    """Loss and gradients of a batch, in one buffer: the gradients, then the loss."""

    def __init__(self, torch: Any, model: Any, device: Any) -> None:
        self.torch, self.model, self.device = torch, model, device
        weights = list(model.parameters())
        self.buffer = torch.zeros(sum(w.numel() for w in weights) + 1, device=device)
        begin = 0
        for weight in weights:
            weight.grad = self.buffer[begin : begin + weight.numel()].view_as(weight)
            begin += weight.numel()

    def compute(self, batch: tuple[Any, Any]) -> bool:
        """Fill the buffer from a batch; whether all of it is finite. Waits for the GPU."""
        torch, (tokens, following) = self.torch, (part.to(self.device) for part in batch)
        self.buffer.zero_()
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
            scores = self.model(tokens)
        loss = torch.nn.functional.cross_entropy(scores.float().reshape(-1, TOKENS), following.reshape(-1))
        loss.backward()
        self.buffer[-1] = loss.detach()
        return bool(self.buffer.isfinite().all())

    def weights(self) -> Any:
        """All weights, one after the other."""
        return self.torch.cat([w.detach().reshape(-1) for w in self.model.parameters()])
