"""Stand-ins for pyxrt, an era each: what one has, and refuses, is that era's own."""

import sys
import time
from types import SimpleNamespace

from sim.card import xrt

__all__ = ["pyxrt_of"]


def pyxrt_of(era, monkeypatch):
    """Put a module like pyxrt of ``era`` on the path: twins, and nothing that pyxrt has not.

    Beyond it: ``waits`` and ``states``, the limits that ``run.wait`` was given and what it is to
    return; ``devices``, those that were opened.
    """

    def unwrapped(owner):
        return getattr(owner, "real", owner)

    class Device:
        def __init__(self, index):
            self.real, self.index = xrt.device(index, backend="model"), index
            module.devices.append(self.real)

        def load_xclbin(self, binary):
            if era == "2026.1":
                raise DeprecationWarning("load_xclbin")
            return self.real.load_xclbin(binary)

    def Kernel(owner, *arguments):
        if isinstance(owner, Device):
            assert era != "2026.1", "deprecated"
            # Before 2022.1 there is no default; a number is not an enumerator.
            if len(arguments) != 3 and (era == "2021.2" or len(arguments) != 2):
                raise TypeError("incompatible constructor arguments")
            if len(arguments) == 3 and arguments[2] is not Kernel.shared:
                raise TypeError("incompatible constructor arguments")
            arguments = (*arguments[:2], 1)
        return xrt.kernel(unwrapped(owner), *arguments)

    Kernel.shared = object()

    def context(device, binary):
        if era == "2024.1":
            raise TypeError("incompatible constructor arguments")
        return xrt.hw_context(device.real, binary)

    class Bo(xrt.bo):
        def __init__(self, owner, *arguments):
            super().__init__(unwrapped(owner), *arguments)

    class Run:
        def __init__(self, kernel):
            self.real = xrt.run(kernel)
            self.start = self.real.start

        def set_arg(self, index, value):
            if isinstance(value, Bo):
                # XRT knows a buffer by a handle of its device.
                assert value._allocator in self.real._device._banks, "a buffer of another device"
            self.real.set_arg(index, value)

        def wait(self, timeout_ms):
            module.waits.append(timeout_ms)
            state = self.real.wait(timeout_ms)
            if not module.states:
                return state
            time.sleep(1e-3)
            return module.states.pop(0)

    module = SimpleNamespace(
        **{name: getattr(xrt, name) for name in ("xclbin", "uuid", "xclBOSyncDirection")},
        kernel=Kernel,
        **dict(device=Device, bo=Bo, run=Run, waits=[], states=[], devices=[]),
    )
    if era not in ("2021.2", "2022.2"):
        module.hw_context = context
    monkeypatch.setitem(sys.modules, "pyxrt", module)
    return module
