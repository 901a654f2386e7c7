"""Trainers whose state has many shapes, for tests: a base that learns, and what each adds."""

from host.agents.registry import ALGORITHMS, find_named

__all__ = ["REFUSED", "SHAPES", "written"]

BASE = """
import collections, copy, dataclasses, functools, random, threading
import numpy as np
import torch
from torch import nn

class Own:
    def __init__(self): self._n = 0
    def state_dict(self): return {"n": self._n, "at": torch.tensor(self._n)}
    def load_state_dict(self, state): self._n = state["n"]

@dataclasses.dataclass(frozen=True)
class Frozen:
    seen: list
    counts: np.ndarray

def counting():
    n = 0
    def count(): nonlocal n; n += 1; return n
    return count
def counting_within():
    n = 0
    def count():
        def add(): nonlocal n; n += 1; return n
        return add()
    return count
def tagged(n):
    def act(x): return act.n(x)
    act.n = n
    return act
def summing(first):
    def add(x, m=2, *, k=1):
        n = first
        def other(): first = x; return lambda: first
        def more(): nonlocal n; n += x + m; return add(x - k) if x > 1 else n
        return more()
    return add

def network(): return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

def learn(q, opt, obs, action, reward, next_obs, discount, factor=1.0, shift=0.0):
    with torch.no_grad():
        wanted = factor * reward + discount * q(next_obs).max(1).values + shift
    td = wanted - q(obs).gather(1, action[:, None])[:, 0]
    opt.zero_grad(); td.square().mean().backward(); opt.step()
    return td.detach()

class Trainer{base}:
    def __init__(self, observation, action):
        {made}
    def get_action(self, obs):
        {acted}
    def update_policy(self, obs, action, reward, next_obs, discount):
        {updated}
"""

_MADE = "self.q = network(); self.opt = torch.optim.Adam(self.q.parameters(), 1e-2)"
_ACTED = "return self.q(obs).argmax(-1)"
_STEP = "learn(self.q, self.opt, obs, action, reward, next_obs, discount"


def _shape(made=_MADE, more="pass", updated="pass", last=f"return {_STEP})", acted=_ACTED, base=""):
    return dict(made=f"{made}; {more}", updated=f"{updated}; {last}", acted=acted, base=base)


#: name -> parts of BASE; each step depends on all of the state
SHAPES = {
    "dict": _shape(
        'self.nets = {"q": network()}; self.opts = [torch.optim.Adam(self.nets["q"].parameters())]',
        last='return learn(self.nets["q"], self.opts[0], obs, action, reward, next_obs, discount)',
        updated="pass",
        acted='return self.nets["q"](obs).argmax(-1)',
    ),
    "nested": _shape(
        "self.nets = [(network(), [network()])]; p = [*self.nets[0][0].parameters()];"
        " self.opt = torch.optim.SGD(p, 1e-1, momentum=0.9); self.p = self.nets[0][1][0]",
        last="return learn(self.nets[0][0], self.opt, obs, action, reward, next_obs, discount)",
        updated="[a.data.lerp_(b.data, 0.1) for a, b in zip(self.p.parameters(),"
        " self.nets[0][0].parameters())]",
        acted="return self.nets[0][1][0](obs).argmax(-1)",
    ),
    "module": _shape(
        "super().__init__(); self.w = nn.Parameter(torch.zeros(4, 3));"
        " self.opt = torch.optim.Adam(self.parameters(), 1e-2)",
        last="f = lambda x: x @ self.w;"
        " return learn(f, self.opt, obs, action, reward, next_obs, discount)",
        updated="self.calls = getattr(self, 'calls', 0) + 1",
        acted="return (obs @ self.w).argmax(-1)",
        base="(nn.Module)",
    ),
    "frozen dataclass": _shape(
        more="self.kept = Frozen([1], np.zeros(1))",
        updated="self.kept.seen.append(len(self.kept.seen))",
        last=f"return {_STEP}, float(len(self.kept.seen)))",
        acted="self.kept.counts[0] += 1;"
        " return (self.q(obs) + float(self.kept.counts[0])).argmax(-1)",
    ),
    "tensor": _shape(
        more="self.log_a = torch.zeros(1, requires_grad=True);"
        " self.a_opt = torch.optim.Adam([self.log_a], 1e-2); self.again = self.log_a",
        updated="self.a_opt.zero_grad(); self.again.exp().sum().backward(); self.a_opt.step()",
        last=f"return {_STEP}, float(self.log_a.exp()))",
        acted="return (self.q(obs) * self.log_a.detach()).argmax(-1)",
    ),
    "schedule": _shape(
        more="self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 2); self.own = Own()",
        updated="self.sched.step(); self.own._n += 1",
        last=f"return {_STEP}, shift=self.own._n)",
    ),
    "numbers": _shape(
        more="self.rate, self.k, self.on, self.name, self.x = 1.0, 0, False, 'a', np.float32(1);"
        " self.add = summing(1)",
        updated="self.rate *= 0.9; self.k += 1; self.on = not self.on; self.name += 'b';"
        " self.x = np.float32(self.x / 3)",
        last=f"return {_STEP}, self.rate + self.x, self.k + self.on + self.add(len(self.name)))",
        acted="return (self.q(obs) + self.rate * torch.arange(3)).argmax(-1)",
    ),
    "random": _shape(
        more="self.gens = torch.Generator(), np.random.default_rng(3), random.Random(4),"
        " np.random.RandomState(5)",
        last=f"return {_STEP}, shift=float(torch.rand(1, generator=self.gens[0]))"
        " + self.gens[1].random() + self.gens[2].random() + self.gens[3].rand()"
        " + random.random() + np.random.normal())",
        updated="pass",
    ),
    "acting": _shape(
        more="self.noise = np.random.default_rng(1)",
        updated="pass",
        acted="a = self.q(obs) + torch.randn(3) + random.random() + np.random.rand();"
        " return (a + self.noise.normal()).argmax(-1)",
    ),
    "later": _shape(
        more="self.mean = None",
        updated="self.mean = obs.mean() if self.mean is None else self.mean + obs.mean();"
        " self.td = 2.0",
        last=f"return {_STEP}, shift=float(self.mean) + self.td)",
    ),
    "neighbours": _shape(
        more="self.one = self.other = self.left = self.right = None",
        updated="self.one, self.other = np.ones((2, 8)); self.left, self.right ="
        " torch.ones(2, 16)",  # side by side in one piece of memory, which they do not share
        last=f"return {_STEP}, shift=float(self.one.sum() + self.right.sum()))",
    ),
    "replaced": _shape(
        more="self.old = network()",
        updated="self.old = copy.deepcopy(self.q)",
        acted="return self.old(obs).argmax(-1)",
    ),
    "modes": _shape(
        "self.q = nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5), nn.Linear(32, 3));"
        " self.opt = torch.optim.Adam(self.q.parameters(), 1e-2)",
        updated="self.q[1].train(not self.q[1].training)",
    ),
    "frozen": _shape(
        more="self.k = 0; self.q[2].requires_grad_(False)",
        updated="self.k += 1; self.k == 2 and [p.requires_grad_(not p.requires_grad) for p in"
        " self.q.parameters()]",  # once: a resumed one does not do it again
    ),
    "frozen buffers": _shape(
        "self.q = network(); b = self.q.register_buffer; b('a', torch.zeros(1));"
        " b('b', torch.zeros(1), persistent=False); self.q.a.requires_grad_();"
        " self.q.b.requires_grad_(); self.k = 0; p = [*self.q.parameters(), self.q.a, self.q.b];"
        " self.opt = torch.optim.Adam(p, 1e-2)",
        updated="self.k += 1; self.k == 2 and self.q.a.requires_grad_(False)",
        last="f = lambda x: self.q(x) + self.q.a - self.q.b;"
        " return learn(f, self.opt, obs, action, reward, next_obs, discount)",
    ),
    "frozen module": _shape(
        "super().__init__(); self.q, self.k, self.w = network(), 0, nn.Parameter(torch.zeros(3));"
        " self.opt = torch.optim.Adam(self.parameters(), 1e-2)",
        updated="self.k += 1; self.k == 2 and (self.q[2].requires_grad_(False),"
        " self.w.requires_grad_(False))",
        last="f = lambda x: self.q(x) + self.w;"
        " return learn(f, self.opt, obs, action, reward, next_obs, discount)",
        base="(nn.Module)",
    ),
    "deleted": _shape(
        more="self.warm = 3.0",
        updated="warm = getattr(self, 'warm', 0.0); warm and delattr(self, 'warm')",
        last=f"return {_STEP}, shift=warm)",
    ),
    "gradients": _shape(
        "self.q = network().double(); self.k = 0;"
        " self.opt = torch.optim.Adagrad(self.q.parameters())",
        updated="self.k += 1; td = reward - self.q(obs.double())[:, 0]; td.mean().backward();"
        " self.k % 2 or (self.opt.step(), self.opt.zero_grad())",
        last="return td.detach().float()",
        acted="return self.q(obs.double()).argmax(-1)",
    ),
}

#: name -> (parts of BASE, what is refused)
REFUSED = {
    "file": (_shape(more="self.f = open(__file__)"), "f must be a module, .* not TextIOWrapper"),
    "lock": (_shape(more="self.t = [threading.Lock()]"), r"t\[0\] must be .* not lock"),
    "closure": (_shape(more="n = network(); self.net = lambda x: n(x)"),
                "net must be a function of attributes, not one that keeps a Sequential"),
    **{
        name: (_shape(more=f"n = network(); self.net = {code}"),
               "net must be a function of attributes, not one that keeps a Sequential")
        for name, code in {
            "partial": "functools.partial(lambda n, x: n(x), n)",
            "keyword of a partial": "functools.partial(lambda n: n, n=n)",
            "partial of a closure": "functools.partial(lambda x: n(x))",
            "default": "lambda x, n=n: n(x)",
            "default of a keyword": "lambda x, *, n=n: n(x)",
            "method": "n.forward",
            "attribute": "tagged(n)",
        }.items()
    },
    **{
        name: (_shape(more=f"self.count = {code}()"),
               "count must be a function of attributes, not one that keeps a variable of its own")
        for name, code in {"counter": "counting", "counter within": "counting_within"}.items()
    },
    "counter of a function": (_shape(more="self.act = functools.partial(tagged(0))"),
                              "act must be a function of attributes, not one that keeps a dict"),
    "tuple in itself": (_shape(more="t = ([],); t[0].append(t); self.t = t"),
                        r"t\[0\]\[0\] must not be the tuple t, which it is in"),
    "hidden": (_shape(more="n = network(); self.opt = torch.optim.Adam(n.parameters())"),
               r"opt must have parameters of attributes, .* shape \[8, 4\] in group 0"),
    "schedule": (_shape("self.q = network(); self.s = torch.optim.lr_scheduler.StepLR("
                        "torch.optim.Adam(self.q.parameters()), 3)"),
                 "s.optimizer must be an attribute of the trainer too"),
    "graph": (_shape(more="w = torch.zeros(1, requires_grad=True); self.a = w.exp()"),
              "a must be a plain tensor .*, not one with a graph"),
    "none": (_shape("self.k = 1"), "Trainer must have a module, a tensor or an array"),
}  # fmt: skip

#: name -> (parts of BASE, what is refused after the first step)
REFUSED_LATER = {
    "module": (_shape(updated="self.new = network()"), "new must be what __init__ has made it"),
    "parameters": (
        _shape(
            updated="self.q = network(); self.opt.param_groups[0]['params'] ="
            " [*reversed([*self.q.parameters()])]"
        ),
        "opt must have the parameters of __init__",
    ),
    "memory": (
        _shape(updated="self.w = self.q[0].weight.data"),
        "w must not share memory with q.0",
    ),
    "name": (_shape(updated="setattr(self, 'other', 3)"), "other must be set in __init__"),
    "layers": (_shape(updated="self.q[1] = nn.Tanh()"), "q.1 must have the layers and shapes"),
    "shape": (
        _shape(more="self.n = nn.BatchNorm1d(2)", updated="self.n.running_mean = torch.zeros(3)"),
        "n.running_mean must have the layers and shapes",
    ),
    "view": (
        _shape(
            more="self.a = np.zeros(3); self.b = self.a[1:]",
            updated="self.a = np.zeros(5); self.b = self.a[1:]",
        ),
        "b must not share memory with a",
    ),
    "function": (
        _shape(more="self.act = torch.relu", updated="self.act = torch.tanh"),
        "act must be what __init__ has made it",
    ),
}


def written(folder, parts):
    """The Algorithm of a trainer whose file, in ``folder``, is of ``parts``."""
    text = BASE
    for name, part in parts.items():
        text = text.replace("{" + name + "}", part or ("" if name == "base" else "pass"))
    path = folder / f"shape{len(list(folder.glob('shape*.py')))}.py"
    path.write_text(text)
    ALGORITHMS.pop(f"{path}:Trainer", None)
    return find_named(f"{path}:Trainer")
