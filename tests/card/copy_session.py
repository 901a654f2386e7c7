"""The copy kernel on a simulated device, at the level of pyxrt's names."""

import numpy as np

from sim.card import xrt
from sim.card.xrt import ert_cmd_state, xclBOSyncDirection

__all__ = ["COMPLETED", "ERROR", "FROM", "NORESPONSE", "TIMEOUT", "TO", "Session"]

TO = xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM = xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
COMPLETED, TIMEOUT = ert_cmd_state.ERT_CMD_STATE_COMPLETED, ert_cmd_state.ERT_CMD_STATE_TIMEOUT
ERROR, NORESPONSE = ert_cmd_state.ERT_CMD_STATE_ERROR, ert_cmd_state.ERT_CMD_STATE_NORESPONSE


class Session:
    """The copy kernel on a device, with buffers of ``size`` bytes and random operands."""

    def __init__(self, path, size=4096, seed=0, **options):
        self.device = xrt.device(0, **options)
        self.kernel = xrt.kernel(self.device, self.device.load_xclbin(str(path)), "copy", 1)
        names = [a.name for a in self.kernel._description.arguments if a.kind == "pointer"]
        self.bos = {
            name: xrt.bo(self.device, size, xrt.bo.normal, self.kernel.group_id(index))
            for index, name in enumerate(names)
        }
        self.data = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
        self.bos["operands"].write(self.data, 0)
        self.bos["operands"].sync(TO)
        self.run = xrt.run(self.kernel)

    def start(self, size, commands=1):
        size = size - 2**32 if size >= 2**31 else size
        for index, value in enumerate([*self.bos.values(), commands, size, size]):
            self.run.set_arg(index, value)
        self.run.start()
        return self.run

    def launch(self, size, commands=1):
        return self.start(size, commands).wait()

    def bytes(self, name):
        self.bos[name].sync(FROM)
        return np.frombuffer(self.bos[name].map(), np.uint8)
