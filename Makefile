# make demo | check | test | test-servers | attack | found | errors | lint | bench | size | node | lib | install | uninstall
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

# What the C library and the tests see of the crates: with the same features, these are built once for all of them.
BINDINGS = --features agent-loop/__bindings,agent-loop/schema,agent-loop/store,agent-loop/ui,agent-loop/mcp,agent-loop/tools \
  --features agent-loop/otlp,agent-loop/sign-in

# What is built with these shares one set of features, and so its dependencies are built once: tests/unify/Cargo.toml.
WITH = -p agent-loop -p agent-loop-unify $(BINDINGS)

# The crates that have the rules of the loop, with all their features: what `make check` lints and tests.
CORE = -p agent-loop-proto -p agent-loop --all-features

LANGUAGES = rust c zig python node
ifdef ONLY
  LANGUAGES = $(ONLY)
endif

.PHONY: demo check test test-servers attack found errors lint bench size node lib install uninstall clean help mock stage
.PHONY: $(addprefix build-,rust c zig python node attacks)

help:
	@echo "make demo      a conversation with a tool: [ONLY=rust|c|zig|python|node] [API=chat|responses|anthropic|switch]"
	@echo "               [MODEL=provider/id]"
	@echo "make check     after an edit of the core: format, lints, unit tests, scenarios in Rust"
	@echo "make test      all tests in all languages, except those of test-servers"
	@echo "make test-servers  tests with servers: llama.cpp's, Postgres, Restate, agent-mock, web servers, docs/integrations.md"
	@echo "make attack    attacks on the engine for ten minutes, or [SECONDS=…]; its short form is part of make test"
	@echo "make found     what users and attackers found: which of it is fixed, by the tests named after it"
	@echo "make errors    every text of an error, with its kind and its place in the code"
	@echo "make lint      formatting and lints"
	@echo "make bench     what the engine costs, compared with a bare HTTP client"
	@echo "make size      whether the engine and the packages are small enough, as they are released"
	@echo "make node      the npm package, as bindings/node/agent-loop-VERSION.tgz"
	@echo "make lib       the C library, in target/release"
	@echo "make install   installs it, PREFIX=$(PREFIX) [LIBDIR=…] [INCLUDEDIR=…] [DOCDIR=…] [DESTDIR=…]; make uninstall removes it"

# ---- the main job -----------------------------------------------------------------------------------------------------------

demo: $(addprefix build-,$(LANGUAGES)) $(if $(MODEL),,mock)
	$(if $(MODEL),,python3 tests/llama/with_server.py --) \
	  python3 tests/languages.py demo $(if $(ONLY),--only $(ONLY)) $(if $(API),--api $(API))

# ---- the languages ----------------------------------------------------------------------------------------------------------

build-rust:
	$(CARGO) build --locked --profile $(PROFILE) -p agent-loop-examples $(WITH)

mock:
	$(CARGO) build --locked --profile $(PROFILE) -p agent-mock $(WITH)

build-attacks:
	$(CARGO) build --locked --profile $(PROFILE) -p agent-loop-attacks $(WITH)

# The installed C library, in target/stage: the examples build against it, as a user's program does.
stage:
	$(CARGO) build --locked --profile $(PROFILE) -p agent-loop-ffi $(WITH)
	LIBDIR= INCLUDEDIR= DOCDIR= DESTDIR= sh ffi/install.sh $(CURDIR)/$(STAGE) $(CURDIR)/$(OUT)

C_EXAMPLES = hello weather calculator abort steer approvals step replay mcp mcp_server

build-c: $(addprefix target/examples/c/,$(C_EXAMPLES) served)
	@if pkg-config --exists libcurl; then $(MAKE) target/examples/c/curl_multi LIBS="$$(pkg-config --libs libcurl)" \
	  FLAGS="$$(pkg-config --cflags libcurl)"; else echo "skipped: curl_multi.c: libcurl and its header are not installed"; fi

target/examples/c/%: examples/c/%.c stage
	@mkdir -p $(@D)
	$(CC) -std=c99 -Wall -Wextra $(FLAGS) -I$(STAGE)/include $< -L$(STAGE)/lib -lagent $(LIBS) \
	  -Wl,-rpath,$(CURDIR)/$(STAGE)/lib -o $@

# Served to clients of MCP, in the tests.
target/examples/c/served: tests/mcp/served/served.c stage
	@mkdir -p $(@D)
	$(CC) -std=c99 -Wall -Wextra -I$(STAGE)/include $< -L$(STAGE)/lib -lagent -Wl,-rpath,$(CURDIR)/$(STAGE)/lib -o $@

build-zig: stage
	sh examples/zig/build.sh $(STAGE)
	ZIG="$${ZIG:-$(CURDIR)/target/zig-venv/bin/python -m ziglang}" ZIG_GLOBAL_CACHE_DIR=$(CURDIR)/target/zig-cache/global \
	  ZIG_LOCAL_CACHE_DIR=$(CURDIR)/target/zig-cache/local sh examples/plugin/build.sh $(STAGE)/include $(CURDIR)/target/plugins

build-python:
	sh bindings/python/develop.sh $(CURDIR)/$(VENV) $(PROFILE)

build-node:
	sh bindings/node/develop.sh $(PROFILE)

# ---- what users run ---------------------------------------------------------------------------------------------------------

node:
	cd bindings/node && npm ci && npm run build && npm pack

lib:
	sh ffi/build.sh

# They install and remove what `make lib` has built, and run no compiler. LIBDIR, INCLUDEDIR, DOCDIR and DESTDIR: ffi/install.sh.
export LIBDIR INCLUDEDIR DOCDIR DESTDIR
install:
	sh ffi/install.sh $(PREFIX)

uninstall:
	sh ffi/install.sh --uninstall $(PREFIX)

# ---- checks -----------------------------------------------------------------------------------------------------------------

# Under 30 s on two cores after an edit of one rule or one struct. `cargo quick` is in .cargo/config.toml.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --profile $(PROFILE) $(CORE) --lib --tests -- -D warnings
	$(CARGO) quick $(CORE) --lib --test scenarios --test layers

TEST = $(CARGO) test --locked --no-fail-fast --profile $(PROFILE)
# The core's own tests.
QUICK = $(if $(filter ci,$(PROFILE)),$(CARGO) quick --no-fail-fast,$(TEST))

# What is tested with the core.
PROGRAMS = -p agent-mock -p agent-loop-benches -p agent-loop-examples -p agent-loop-program -p agent-loop-cli

# Suites with `&` run together with those before them.
test: build-rust build-c build-zig build-python build-node build-attacks mock
	python3 tests/suites.py \
	  "rust=$(QUICK) $(CORE) $(PROGRAMS) \
	    --lib --bins --examples --test program --test api --test stores --test traces --test allocations --test layers \
	    -- --show-output && \
	    $(QUICK) -p agent-loop-proto -p agent-loop \
	      --features agent-loop/schema,agent-loop/store,agent-loop/ui,agent-loop/mcp,agent-loop/tools --doc" \
	  "scenarios-rust=$(QUICK) $(CORE) --test scenarios" \
	  "attacks=$(OUT)/attacks" \
	  "attacks-python=$(VENV)/bin/python tests/attacks/odd.py" \
	  "attacks-node&=node tests/attacks/odd.mjs" \
	  "abi=$(TEST) -p agent-loop-abi-check -p agent-loop-ffi -p xtask -p agent-loop-unify" \
	  "c=sh tests/c/run.sh $(CURDIR)/$(OUT)" \
	  "python&=sh bindings/python/test.sh $(CURDIR)/$(VENV) --ignore bindings/python/tests/test_scenarios.py" \
	  "node=cd bindings/node && npm test" \
	  "snippets&=python3 tests/snippets.py" \
	  "types&=python3 tests/snippet_types.py --only node" \
	  "c-snippets&=python3 tests/c_snippets.py" \
	  "errors&=python3 tests/errors.py --check" \
	  "scenarios-c=python3 tests/scenarios/expected.py c $(CURDIR)/target/c-tests/scenarios -- tests/scenarios/*/" \
	  "scenarios-python=$(VENV)/bin/python -X dev -W error -m pytest bindings/python/tests/test_scenarios.py" \
	  "scenarios-node=cd bindings/node && npm run --silent test:scenarios" \
	  "stores-between&=python3 tests/stores/between.py" \
	  "bench-gate=python3 benches/gate.py" \
	  "languages=python3 tests/languages.py test scripted" \
	  "approvals=python3 tests/approvals.py" \
	  "recordings=python3 tests/recordings.py"

test-servers: build-rust build-c build-zig build-python build-node mock
	python3 tests/suites.py \
	  "axum=$(CARGO) test --locked --manifest-path examples/axum/Cargo.toml --target-dir target/user" \
	  "servers-rust=$(QUICK) $(CORE) -p agent-mock --test servers --test server --test strict -- --show-output" \
	  "stores-postgres=python3 tests/postgres/with_server.py -- $(QUICK) $(CORE) --test stores \
	    -- --include-ignored --show-output postgres" \
	  "stores-between=python3 tests/postgres/with_server.py -- python3 tests/stores/between.py" \
	  "keyring=python3 tests/keyring/with_server.py -- $(QUICK) $(CORE) -p agent-loop-program -p agent-loop-cli \
	    -p agent-loop-examples --test program -- --ignored --show-output keyring" \
	  "features=$(QUICK) -p agent-loop -p agent-loop-unify --test features && \
	    $(QUICK) -p agent-loop -p agent-loop-unify --no-default-features --test features" \
	  "ui=sh tests/ui/run.sh $(QUICK) $(CORE)" \
	  "servers-python=python3 tests/postgres/with_server.py -- python3 tests/browser/with_browser.py -- \
	    sh bindings/python/test-servers.sh" \
	  "view=$(CARGO) build --locked --profile $(PROFILE) -p agent-loop-cli $(WITH) && PROFILE=$(PROFILE) \
	    python3 tests/browser/with_browser.py -- python3 tests/view/test_view.py" \
	  "restate-python=python3 tests/restate/with_server.py -- $(VENV)/bin/python -X dev -m pytest -s bindings/python/tests-restate" \
	  "restate-node=cd bindings/node && python3 ../../tests/restate/with_server.py -- npm run --silent test:restate" \
	  "restate-rust=python3 tests/restate/with_server.py -- $(CARGO) test --locked --manifest-path examples/restate/Cargo.toml \
	    --target-dir target/user -- --ignored" \
	  "mcp-rust=python3 tests/mcp/with_server.py -- $(QUICK) $(CORE) --test mcp -- --ignored --show-output" \
	  "mcp-conformance=$(CARGO) build --locked --profile $(PROFILE) $(WITH) --example mcp_conformance_client && \
	    python3 tests/mcp/with_server.py -- python3 tests/mcp/conformance.py $(CURDIR)/$(OUT)/examples/mcp_conformance_client" \
	  "mcp-c=python3 tests/mcp/with_server.py -- python3 tests/mcp/everything_c.py target/examples/c/mcp $(STAGE)" \
	  "mcp-serving-c=python3 tests/mcp/with_server.py -- python3 tests/mcp/serving.py c $(CURDIR)/target/examples/c/served" \
	  "mcp-serving-python=python3 tests/mcp/with_server.py -- python3 tests/mcp/serving.py python \
	    $(CURDIR)/$(VENV)/bin/python tests/mcp/served/served.py" \
	  "mcp-serving-node=python3 tests/mcp/with_server.py -- python3 tests/mcp/serving.py node node \
	    bindings/node/test-mcp/served.mjs" \
	  "mcp-python=python3 tests/mcp/with_server.py -- $(VENV)/bin/python -X dev -m pytest bindings/python/tests-mcp" \
	  "mcp-node=cd bindings/node && python3 ../../tests/mcp/with_server.py -- npm run --silent test:mcp" \
	  "projects=$(QUICK) $(CORE) $(PROGRAMS) --test program --no-run && \
	    python3 tests/projects.py $(OUT)/agent $(VENV)/bin/python" \
	  "terminal=python3 tests/llama/with_server.py -- python3 tests/terminal/chat.py $(OUT)/agent" \
	  "servers=python3 tests/llama/with_server.py -- python3 tests/languages.py test servers" \
	  "applications-node=sh tests/node/test.sh"

# Other cases each time: what fails is printed with the command that plays it again, and the rest is played, too.
SECONDS = 600
attack: build-attacks build-python build-node
	@failed=; \
	play() { echo "$$@ --seconds $$seconds"; nice "$$@" --seconds $$seconds || failed="$$failed$$* failed. "; }; \
	seconds=$$(($(SECONDS) * 8 / 10)); play $(OUT)/attacks; \
	seconds=$$(($(SECONDS) / 10)); play $(VENV)/bin/python tests/attacks/odd.py; play node tests/attacks/odd.mjs; \
	if [ -n "$$failed" ]; then echo "$$failed"; exit 1; fi

errors: ; @python3 tests/errors.py

found: build-c build-python build-node mock
	python3 tests/found/found.py $(PROFILE)

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --profile $(PROFILE) --workspace --all-targets --all-features -- -D warnings
	python3 tests/long_lines.py
	python3 tests/errors.py --check
	python3 packaging/notices.py --check
	sh tests/unify/check.sh
	sh tests/features/check.sh
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --quiet --profile $(PROFILE) --no-deps -p agent-loop-proto -p agent-loop \
	  -p agent-loop-program --features agent-loop/schema,agent-loop/postgres,agent-loop/ui,agent-loop/mcp,agent-loop/tools

bench:
	sh benches/build.sh
	sh benches/size.sh
	python3 benches/run.py
	target/release/bench-prepare

size: ; sh benches/size.sh

clean:
	rm -rf target bindings/node/node_modules bindings/node/dist

bench-formats: ; sh benches/build.sh && python3 benches/formats.py
bench-gate: ; python3 benches/gate.py
bench-stores:
	$(CARGO) build --locked --release -p agent-loop-benches --features postgres --bin bench-server --bin bench-stores
	python3 tests/postgres/with_server.py -- target/release/bench-stores
