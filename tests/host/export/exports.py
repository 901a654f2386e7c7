"""Exported policies, loaded and run: ONNX by onnxruntime, torch by itself, C by gcc and ctypes."""

import ctypes
import subprocess

import gymnasium
import numpy as np

from host.agents.policy_file import save_policy
from host.export.export_command import export

#: What the source must be clean for.
STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined"]
STRICT += ["-fno-sanitize-recover=undefined"]


def saved(policy, folder, algo="dqn", env="CartPole-v1"):
    folder.mkdir(exist_ok=True)
    save_policy(folder / "best.npz", policy, algo=algo, env=env, score=None)
    return folder


def onnx_outputs(run, observations):
    import onnxruntime

    [file], _ = export(run, "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, {"observation": observations}), strict=True))


def torch_outputs(run, observations):
    import torch

    [file], _ = export(run, "torch")
    found = torch.export.load(str(file)).module()(torch.from_numpy(observations))
    return {name: tensor.detach().numpy() for name, tensor in found.items()}


def compiled(file):
    """The library of a C file that ``export`` has written."""
    library = file.with_suffix(".so")
    subprocess.run(
        ["gcc", *STRICT, "-shared", "-fPIC", "-o", library, file, "-lm"], check=True, timeout=120
    )
    return ctypes.CDLL(str(library))


def played_in_c(file, episodes):
    """Returns of CartPole-v1 with the policy in the C file ``file``, one for each episode."""
    function = getattr(compiled(file), file.stem)
    function.restype = ctypes.c_int64
    env, found = gymnasium.make("CartPole-v1"), []
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            place = np.ascontiguousarray(observation, np.float32).ctypes.data_as(ctypes.c_void_p)
            observation, reward, over, cut, _ = env.step(function(place, None))
            total, ended = total + reward, over or cut
        found.append(total)
    return found


def c_outputs(run, observations, spec, heads):
    """As the others; ``heads``: name -> size."""
    [file, _], _ = export(run, "c")
    function = getattr(compiled(file), file.stem)
    function.restype = ctypes.c_int64 if spec.discrete else None
    count = len(observations)
    found = {name: np.zeros((count, size), np.float32) for name, size in heads.items()}
    shape = () if spec.discrete else spec.action_shape
    found["action"] = np.zeros((count, *shape), spec.applied_dtype)
    rows = np.ascontiguousarray(observations)
    for row in range(count):
        arguments = [rows[row].ctypes.data_as(ctypes.c_void_p)]
        if not spec.discrete:
            arguments.append(found["action"][row].ctypes.data_as(ctypes.c_void_p))
        arguments += [found[name][row].ctypes.data_as(ctypes.c_void_p) for name in heads]
        action = function(*arguments)
        if spec.discrete:
            found["action"][row] = action
    return found
