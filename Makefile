# make demo | test | lint | bench | node | install
#
# PROFILE=ci (the default for demo and test) builds without link-time optimisation, PROFILE=release as we ship it.

PROFILE ?= ci
PREFIX ?= /usr/local
CARGO = cargo
OUT = target/$(PROFILE)
STAGE = target/stage
VENV = target/python-venv
# Cargo builds the profile `dev` into the folder debug; our profiles have folders of their names.
export PROFILE

# What is built with these shares one set of features, and so its dependencies are built once: tests/unify/Cargo.toml.
WITH = -p agent-loop -p agent-loop-unify

# All tests but the scenarios, which are a suite of their own.
NOT_SCENARIOS = --lib --bins --examples --test stories --test server --test strict --test allocations --test layers

RUST_TESTS = -p agent-loop -p agent-loop-proto -p agent-mock -p agent-loop-benches -p agent-loop-examples

LANGUAGES = rust c zig python node
ifdef ONLY
  LANGUAGES = $(ONLY)
endif

.PHONY: demo test lint bench node install clean help $(addprefix build-,rust c zig python node) mock stage

help:
	@echo "make demo      a conversation with a tool: [ONLY=rust|c|zig|python|node] [API=chat|responses|anthropic|switch]"
	@echo "               [MODEL=provider/id]"
	@echo "make test      all tests in all languages"
	@echo "make lint      formatting and lints"
	@echo "make bench     what the engine costs, compared with a bare HTTP client"
	@echo "make node      the npm package, as bindings/node/agent-loop-VERSION.tgz"
	@echo "make install   the C library, PREFIX=$(PREFIX)"

# ---- the main job -----------------------------------------------------------------------------------------------------------

demo: $(addprefix build-,$(LANGUAGES)) $(if $(MODEL),,mock)
	$(if $(MODEL),,python3 tests/llama/with_server.py --) \
	  python3 tests/languages.py demo $(if $(ONLY),--only $(ONLY)) $(if $(API),--api $(API))

# ---- the languages ----------------------------------------------------------------------------------------------------------

build-rust:
	$(CARGO) build --locked --profile $(PROFILE) -p agent-loop-examples $(WITH)

mock:
	$(CARGO) build --locked --profile $(PROFILE) -p agent-mock $(WITH)

# The installed C library, in target/stage: the examples build against it, as a user's program does.
stage:
	$(CARGO) build --locked --profile $(PROFILE) -p agent-loop-ffi $(WITH)
	sh ffi/install.sh $(CURDIR)/$(STAGE) $(CURDIR)/$(OUT)

build-c: $(addprefix target/examples/c/,hello weather calculator abort steer)

target/examples/c/%: examples/c/%.c stage
	@mkdir -p $(@D)
	$(CC) -std=c99 -Wall -Wextra -I$(STAGE)/include $< -L$(STAGE)/lib -lagent -Wl,-rpath,$(CURDIR)/$(STAGE)/lib -o $@

build-zig: stage
	sh examples/zig/build.sh $(STAGE)

build-python:
	sh bindings/python/develop.sh $(CURDIR)/$(VENV) $(PROFILE)

build-node:
	sh bindings/node/develop.sh $(PROFILE)

# ---- what users run ---------------------------------------------------------------------------------------------------------

node:
	cd bindings/node && npm ci && npm run build && npm pack

install:
	$(CARGO) build --locked --release -p agent-loop-ffi
	sh ffi/install.sh $(PREFIX) $(CURDIR)/target/release

# ---- checks -----------------------------------------------------------------------------------------------------------------

test: build-rust build-c build-zig build-python build-node mock
	python3 tests/suites.py \
	  "rust=$(CARGO) test --locked --profile $(PROFILE) $(RUST_TESTS) $(NOT_SCENARIOS) -- --show-output \
	    && $(CARGO) test --locked --profile $(PROFILE) -p agent-loop -p agent-loop-proto --doc" \
	  "abi=$(CARGO) test --locked --profile $(PROFILE) -p agent-loop-abi-check -p agent-loop-ffi -p agent-loop-unify" \
	  "c=sh tests/c/run.sh $(CURDIR)/$(OUT)" \
	  "python=sh bindings/python/test.sh $(CURDIR)/$(VENV) --ignore bindings/python/tests/test_scenarios.py" \
	  "node=cd bindings/node && npm test" \
	  "scenarios-rust=$(CARGO) test --locked --profile $(PROFILE) -p agent-loop --test scenarios" \
	  "scenarios-c=$(CURDIR)/target/c-tests/scenarios tests/scenarios" \
	  "scenarios-zig=sh tests/zig/run.sh $(CURDIR)/$(STAGE)" \
	  "scenarios-python=$(VENV)/bin/python -X dev -W error -m pytest bindings/python/tests/test_scenarios.py" \
	  "scenarios-node=cd bindings/node && npm run --silent test:scenarios" \
	  "snippets=python3 tests/snippets.py" \
	  "languages=python3 tests/llama/with_server.py -- python3 tests/languages.py test"

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --profile $(PROFILE) --workspace --all-targets -- -D warnings
	sh tests/unify/check.sh

bench:
	sh benches/build.sh
	python3 benches/run.py

clean:
	rm -rf target bindings/node/node_modules bindings/node/dist
