"""A program that joins a Ray cluster and says what is there: its process may be ended if Ray waits
for ever. It imports nothing of this project, and prints one line of JSON."""

import json
import sys

if __name__ == "__main__":
    import ray

    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
    nodes = [node for node in ray.nodes() if node["Alive"]]
    free = ray.available_resources().get("CPU", 0)
    found = {node["NodeManagerAddress"]: node["Resources"].get("CPU", 0) for node in nodes}
    print(json.dumps({"free": free, "nodes": found}), flush=True)
