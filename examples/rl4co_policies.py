"""Train policies of rl4co on the paper's instances, beside networks of ours; write the curves.

    python examples/rl4co_policies.py --cpu-seconds 240 --out curves.csv

Needs the extra `rl4co`. A line of the file is a measurement: who, when it was due, after how many
instances and CPU seconds it came, and the mean gap of greedy routes on instances that were not
trained on.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from rl4co.models import AttentionModelPolicy
from rl4co.utils.ops import unbatchify

import decost
from decost.learn import gap_of_network
from decost.learn.config import TrainConfig
from decost.learn.rl4co_env import OPTWVPEnv, embeddings, episodes
from decost.learn.train import Run, start_run, train

Row = tuple[str, int, float, float]

MEASURED = 8
"""Times that a training is measured, about."""

THEIRS = ("attention model", "POMO")

OURS = {
    "the paper's network": {"ptar": False, "batch_size": 64},
    "our network, exact teacher": {"teacher": "exact"},
}
"""Settings of `decost train` for the networks of the package."""


def policy_of(name: str, env: OPTWVPEnv) -> AttentionModelPolicy:
    """Make the attention model of Kool et al., or that of POMO, in the shapes of rl4co."""
    torch.manual_seed(0)
    shape = {"num_encoder_layers": 6, "normalization": "instance", "use_graph_context": False}
    more = shape if name == "POMO" else {}
    return AttentionModelPolicy(env_name=env.name, **embeddings(128), **more)


def gap(
    policy: AttentionModelPolicy, env: OPTWVPEnv, test: list, best: np.ndarray, starts: int
) -> float:
    """Mean gap of greedy routes, in percent; of several starts the best route counts."""
    way = {"decode_type": "multistart_greedy", "num_starts": starts}
    policy.eval()
    with torch.inference_mode():
        out = policy(
            env.reset(episodes(test)),
            env,
            phase="test",
            **(way if starts > 1 else {"decode_type": "greedy"}),
        )
    policy.train()
    profit = out["reward"].double()
    if starts > 1:
        profit = unbatchify(profit, starts).amax(1)
    return float(100 * (1 - profit.numpy() / best).mean())


def theirs(name: str, args: argparse.Namespace, test: list, best: np.ndarray) -> Iterator[Row]:
    """Train by REINFORCE: POMO compares starts at several stops, the other one samples.

    POMO is never taught where to start, so that it also plans from several stops.
    """
    env = OPTWVPEnv(nodes=args.nodes, window=args.window, seed=1, check_solution=False)
    policy = policy_of(name, env)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-4, weight_decay=1e-6)
    drawn = (
        {"decode_type": "multistart_sampling", "num_starts": args.samples}
        if name == "POMO"
        else {"decode_type": "sampling", "num_samples": args.samples}
    )
    seen, spent, due = 0, 0.0, 0.0
    while True:
        if spent >= due:
            starts = args.samples if name == "POMO" else 1
            yield name, seen, spent, gap(policy, env, test, best, starts)
            due += args.cpu_seconds / MEASURED
        if spent >= args.cpu_seconds:
            return
        begin = time.process_time()
        td = env.reset(env.generator([args.batch]))
        out = policy(td, env, phase="train", **drawn)
        reward, told = (unbatchify(out[key], args.samples) for key in ("reward", "log_likelihood"))
        loss = -((reward - reward.mean(1, keepdim=True)) * told).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        seen += args.batch
        spent += time.process_time() - begin


def ours(name: str, args: argparse.Namespace, test: list, best: np.ndarray) -> list[Row]:
    """Train a network of the package; its CPU seconds count what is examined, too."""
    rows: list[Row] = []
    config = TrainConfig(
        nodes=str(args.nodes),
        window=str(args.window),
        episodes=args.episode,
        epochs=10**4,
        patience=10**4,
        validation=8,
        cpu_limit=args.cpu_seconds,
        threads=1,
        **OURS[name],
    )

    def measure(run: Run) -> None:
        if run.cpu_seconds >= len(rows) * args.cpu_seconds / MEASURED:
            seen = run.epoch * config.episodes
            rows.append((name, seen, run.cpu_seconds, gap_of_network(run.network, test, best)))

    with TemporaryDirectory() as folder:
        train(start_run(config, Path(folder)), measure)
    return rows


def main(words: list[str] | None = None) -> list[Row]:
    """Train both, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu-seconds", type=float, default=240.0)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--window", type=float, default=100)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--episode", type=int, default=640, help="instances an epoch of ours")
    parser.add_argument("--test", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("curves.csv"))
    args = parser.parse_args(words)
    torch.set_num_threads(1)
    test = decost.generate(
        "paper", nodes=args.nodes, window=args.window, count=args.test, seed=10**6
    )
    best = np.array([one.profit for one in decost.solve_many(test, method="exact")])
    rows: list[Row] = []
    with args.out.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("training", "after", "instances", "cpu_seconds", "gap"))
        for name in (*THEIRS, *OURS):
            measured = (theirs if name in THEIRS else ours)(name, args, test, best)
            for number, row in enumerate(measured):
                rows.append(row)
                after = f"{number * args.cpu_seconds / MEASURED:g}"
                table.writerow((row[0], after, row[1], f"{row[2]:.1f}", f"{row[3]:.3f}"))
                file.flush()
    return rows


if __name__ == "__main__":
    rows = main()
    for name in (*THEIRS, *OURS):
        gaps = [row[3] for row in rows if row[0] == name]
        print(f"{name}: {gaps[0]:.1f}% before, {gaps[-1]:.1f}% after")
        assert gaps[-1] < gaps[0]
