# `make` alone lists the targets. tools/need installs the programs that a target needs, and says what they are for.

# Where the files of a release will be, such as https://example.org/torch-storage. The project has no public address yet, and this is the
# one place that will name it: `make release` puts it into the pages and rockspecs, which say $ADDRESS.
ADDRESS =

# The interpreter to build and install for, as in `make build LUA=lua5.4`. One library serves Lua 5.1 and every LuaJIT.
LUA =
ASK_VERSION = $(shell '$(LUA)' -e 'print((_VERSION:gsub("[^%d.]", "")))' 2>/dev/null)
VERSION := $(if $(LUA),$(or $(patsubst lua%,%,$(filter lua5.1 lua5.2 lua5.3 lua5.4 lua5.5,$(LUA))),$(ASK_VERSION)),5.1)
$(if $(filter 5.1 5.2 5.3 5.4 5.5,$(VERSION)),,$(error '$(LUA)' is not an interpreter of Lua 5.1 to 5.5, or is not installed))
FEATURE = lua$(subst .,,$(VERSION))

# The library for Lua 5.1 and LuaJIT is in build/torch, and that for another version VERSION in build/VERSION/torch.
SUBDIR = $(if $(filter-out 5.1,$(VERSION)),/$(VERSION))
CORE = build$(SUBDIR)/torch/core.so
TARGET = $(or $(CARGO_TARGET_DIR),target)$(SUBDIR)

PREFIX = /usr/local
LUADIR = $(PREFIX)/share/lua/$(VERSION)
LIBDIR = $(PREFIX)/lib/lua/$(VERSION)
INCDIR = $(PREFIX)/include
DOCDIR = $(PREFIX)/share/doc/torch-storage
STATICDIR = $(PREFIX)/lib/torch-storage/$(if $(findstring luajit,$(LUA)),luajit,$(VERSION))

# Of LuaJIT, Debian has a version of 2022 (luajit). The current one (rolling) and OpenResty's (luajit2) are in .tools, as is Lua 5.5.
INTERPRETERS = lua5.1 lua5.4 luajit 'luajit -joff' .tools/bin/luajit-rolling
MORE_INTERPRETERS = lua5.2 lua5.3 .tools/bin/lua5.5 '.tools/bin/luajit-rolling -joff' .tools/bin/luajit2 '.tools/bin/luajit2 -joff'
STATIC_LUAS = lua5.1 lua5.4 luajit
HOST_LUAS = lua51 lua54 lua55 luajit
VALGRIND = valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite
# The static library for LuaJIT is in a folder of its own: only it opens the FFI.
STATIC = build$(if $(findstring luajit,$(LUA)),/luajit,$(SUBDIR))
STATIC_FEATURE = $(if $(findstring luajit,$(LUA)),luajit,$(FEATURE))
BUILT = $(TARGET)/release/libtorch_storage.$(if $(filter Darwin,$(shell uname)),dylib,so)
BENCHMARKS = $(filter-out $(addprefix bench/,measurement.lua sections.lua plain_t7.lua tsv.lua order.lua),$(wildcard bench/*.lua))
DOCUMENTS = README.md CHANGELOG.md CONTRIBUTING.md LICENSE docs examples
SOURCES = $(wildcard Cargo.toml Cargo.lock build.rs .cargo/config.toml) $(shell find src -name '*.rs') src/lua/restricted.txt
MAKE += --no-print-directory

# How many random views `make test-numpy` compares.
ROWS = 100000

# How many random calls `make test-answers` compares.
CASES = 100000

# How many rounds of files `make test-python` exchanges.
ROUNDS = 100

# Which format `make fuzz` reads, and how many inputs it tries.
FORMAT = t7
RUNS = 100000

# torch.mpi is built for the MPI library of this compiler, in a folder of its own: MPI=mpich takes Debian's MPICH.
MPI = openmpi
MPICC = $(if $(shell command -v mpicc.$(MPI)),mpicc.$(MPI),mpicc)
MPIRUN = $(if $(shell command -v mpirun.$(MPI)),mpirun.$(MPI),mpirun)
MPI_TARGET = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/$(MPI)$(SUBDIR)
MPI_SOURCES = $(wildcard mpi/Cargo.toml mpi/Cargo.lock mpi/build.rs mpi/src/*)
MPI_INTERPRETERS = $(or $(LUA),luajit lua5.1)
RANKS = 2 3 4

# A program with several Lua states, for the specs. SANITIZE='-fsanitize=thread', for example, adds a compiler option.
HOSTS = build/states-lua$(VERSION) $(if $(filter 5.1,$(VERSION)),build/states-luajit)
HEADERS = /usr/include/lua5.1/lua.h /usr/include/lua5.4/lua.h /usr/include/luajit-2.1/lua.h
MORE_HEADERS = /usr/include/lua5.2/lua.h /usr/include/lua5.3/lua.h
HOST_CFLAGS = -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread $(SANITIZE)

# rustup adds the directory of cargo to the PATH of login shells only.
export PATH := $(PATH):$(HOME)/.cargo/bin
export LUA_PATH := $(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;
export LUA_CPATH := $(CURDIR)/build/?.so;;
export LUA_CPATH_5_2 := $(CURDIR)/build/5.2/?.so;;
export LUA_CPATH_5_3 := $(CURDIR)/build/5.3/?.so;;
export LUA_CPATH_5_4 := $(CURDIR)/build/5.4/?.so;;
export LUA_CPATH_5_5 := $(CURDIR)/build/5.5/?.so;;

.PHONY: help demo prompt quick test test-all test-host test-mpi test-cpp test-static test-arm test-musl test-windows check-macos miri miri-stacked miri-tree miri-big-endian loom races check check-editor check-workflows build static mpi hosts dtypes docs bench bench-numpy bench-strided bench-conversions bench-formats bench-answers bench-cpp bench-mpi bench-results bench-pictures test-numpy test-answers test-python python numpy memcheck fuzz install install-static install-mpi release test-release clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1	/p' Makefile | awk -F '\t' '{ printf "make %-18s %s\n", $$1, $$2 }'

demo: ## install what is missing, build, and run examples/tour.lua
	@tools/need cargo cc luajit
	@$(MAKE) build
	luajit examples/tour.lua
	@printf '\nThe library works. `make prompt` starts luajit with it; README.md says how to install it.\n'

prompt: ## start the prompt of luajit with the library loaded, without installing it; LUA=lua5.4 starts another Lua
	@tools/need cargo cc $(filter lua5.1 lua5.2 lua5.3 lua5.4 luajit,$(or $(LUA),luajit))
	@$(MAKE) build
	@$(or $(LUA),luajit) -l torch -i

# A part that passed is up to date until a file changes that it depends on. The library and the tests in Rust are compiled at the same
# time, so each has a folder of its own.
quick: ## after a change: run the Rust tests of the engine and the specs on luajit, without slow tests; less than a minute
	@tools/need cargo cc luajit busted
	@$(MAKE) --jobs=2 --keep-going build/quick/rust.passed build/quick/specs.passed

build/quick/rust.passed: $(SOURCES)
	cargo test --quiet --profile quick --locked --features internals --lib --target-dir target/quick-tests
	@mkdir -p $(@D) && touch $@

build/quick/specs.passed: build/quick/torch/core.so $(shell find lua spec tests/data -type f)
	@BUILD=build/quick QUIET=1 BUSTED=--exclude-tags=process,slow,large tools/test luajit
	@touch $@

build/quick/torch/core.so: $(SOURCES)
	cargo build --quiet --profile quick --locked --features lua51,module --target-dir target
	@mkdir -p $(@D)
	cp target/quick/$(notdir $(BUILT)) $@.new
	mv -f $@.new $@

test: ## run every test, before a commit; SPECS='spec/x/y_spec.lua' and FILTER='pattern' run some specs only, JOBS=1 one at a time
	@tools/need cargo cc lua5.1 lua5.4 luajit luajit-rolling busted luarocks $(HEADERS)
	@tools/need --try nginx tarantool redis nvim love curl valgrind g++
	@$(MAKE) --jobs=2 $(addprefix built-for-,$(sort lua5.1 $(filter lua5.%,$(notdir $(INTERPRETERS)))))
	@tools/test $(if $(SPECS)$(FILTER),,rust) $(INTERPRETERS)

built-for-%:
	@$(MAKE) build hosts LUA=$*

test-all: ## run every spec on all interpreters: also Lua 5.2, 5.3 and 5.5, and more LuaJITs; then test-host
	@tools/need cargo cc lua5.2 lua5.3 lua5.5 luajit2 $(MORE_HEADERS)
	@$(MAKE) test EVERYTHING=1 INTERPRETERS="$(INTERPRETERS) $(MORE_INTERPRETERS)"
	@$(MAKE) test-host

# Lua itself is built for each, without optimisation.
test-host: ## test Rust programs that embed Lua (5.1, 5.4, 5.5 and LuaJIT are built and linked), and the package; HOST_LUAS=luajit for one
	@tools/need cargo cc
	@set -e; for lua in $(HOST_LUAS); do \
	  features="host,$$lua,vendored,send"; printf '\n== %s\n' "$$features"; \
	  cargo test --quiet --profile dev --locked --features "$$features" --test host; \
	  cargo run --quiet --locked --features "$$features" --example host; \
	done
	cargo test --quiet --profile dev --locked --features host,lua54,vendored,send --lib -- host:: lua::
	cargo test --quiet --profile dev --locked --features host,lua54,vendored,send --doc -- host program
	cargo package --quiet --locked --allow-dirty --features host,lua54,vendored

test-cpp: ## test include/torch_storage.hpp with g++ and clang++, C++17 and C++20, on Lua 5.1, 5.4 and LuaJIT, with valgrind and AddressSanitizer
	@tools/need cargo cc g++ clang++ lua5.1 lua5.4 luajit valgrind $(HEADERS)
	@tools/need --try sol2
	@$(MAKE) --jobs=2 built-for-lua5.1 built-for-lua5.4
	@tests/cpp/run

test-static: ## test programs that are linked with the static library, by pkg-config and CMake, on Lua 5.1, 5.4 and LuaJIT; STATIC_LUAS=luajit for one
	@tools/need cargo cc g++ pkg-config cmake valgrind $(HEADERS)
	@tests/static/run $(STATIC_LUAS)

bench-cpp: ## compare frames of 10,000 floats to a script and back with sol2 and a plain array; on LuaJIT and Lua 5.4
	@tools/need cargo cc g++ sol2 $(HEADERS)
	@$(MAKE) --jobs=2 built-for-lua5.1 built-for-lua5.4
	@tests/cpp/run bench

test-arm: ## run specs and Rust tests for ARM64 Linux, by qemu-aarch64; QUICK=1 runs a few specs, and FULL=1 all of them
	@QUICK='$(QUICK)' FULL='$(FULL)' tools/platforms/arm

test-musl: ## run the specs with Luas for musl, the C library of Alpine Linux; QUICK=1 runs a few
	@QUICK='$(QUICK)' tools/platforms/musl

# Miri runs the engine without Lua, with memory from the allocator and the portable kernels. It takes both models of what pointers may
# do, several orders of the threads (a seed each), and a processor whose numbers begin with their most significant byte.
MIRI_TESTS = owners small references exchange holds views $(patsubst tests/%/main.rs,%,$(wildcard tests/sound/main.rs))
MIRI_THREADS = thread states looked_up
MIRI_SEEDS = 1..4
MIRI = cargo +nightly miri test --target-dir target/miri --locked --no-default-features --features internals $(addprefix --test ,$(MIRI_TESTS))

# Miri uses one core, so two of the three parts run at once.
miri: ## run the tests of storages and threads under Miri, which finds undefined behaviour and data races; MIRI_SEEDS=1..4
	@tools/need cargo miri
	cargo +nightly miri setup
	@$(MAKE) --jobs=2 --output-sync=target miri-stacked miri-tree miri-big-endian

miri-stacked:
	$(call miri_with,)

miri-tree:
	$(call miri_with,-Zmiri-tree-borrows)

miri-big-endian:
	MIRIFLAGS=-Zmiri-disable-isolation $(MIRI) --target s390x-unknown-linux-gnu

define miri_with
MIRIFLAGS="-Zmiri-disable-isolation $(1)" $(MIRI)
MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=$(MIRI_SEEDS) $(1)" $(MIRI) -- $(MIRI_THREADS)
endef

loom: ## run small models of threads that share storages in every order of their steps, by loom: half a minute
	@tools/need cargo cc
	RUSTFLAGS='--cfg loom' cargo test --locked --features internals --target-dir target/loom --test models -- --nocapture --test-threads=1

# ThreadSanitizer needs a standard library that was compiled for it.
races: ## run the tests of threads under ThreadSanitizer, which finds data races
	@tools/need cargo miri
	RUSTFLAGS=-Zsanitizer=thread cargo +nightly test --locked --features internals -Zbuild-std --target "$$(rustc -vV | sed -n 's/^host: //p')" \
	  --target-dir target/races --test shared --test exchange --test holds --test references

check: ## check formatting, lints and documentation
	@tools/need cargo cc cargo-fmt cargo-clippy luajit luacheck stylua
	@tools/need --try openmpi libclang
	@tools/need --try mdbook
	@$(MAKE) build
	@tools/check

# LuaLS itself is in no package registry. EmmyLua reads the same annotations.
check-workflows: ## check .github/workflows with the schema of GitHub's workflows and zizmor, which it installs in .tools/workflows
	@tools/need venv
	@test -x .tools/workflows/bin/zizmor || { python3 -m venv .tools/workflows && .tools/workflows/bin/pip install --quiet check-jsonschema zizmor; }
	.tools/workflows/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.tools/workflows/bin/zizmor --offline --no-progress .github

check-editor: ## check what an editor knows about the library, with EmmyLua's emmylua_check, which is built in ten minutes
	@tools/need cargo cc luajit emmylua_check
	luajit tools/check_editor.lua

dtypes: ## write the declarations and tables that follow from the list of dtypes, in src/element.rs
	@tools/need cargo cc luajit
	@$(MAKE) build
	luajit tools/dtypes.lua

docs: ## build the book from docs: target/book/index.html
	@tools/need cargo cc luajit mdbook
	luajit tools/book.lua

bench: ## run the benchmarks on the interpreters of `make test`; TSV=target/bench also writes the figures to files there, as for bench-*
	@tools/need cargo cc lua5.1 lua5.4 luajit luajit-rolling
	@for lua in $(INTERPRETERS); do $(MAKE) build LUA="$${lua%% *}" || exit; done
	@for script in $(BENCHMARKS); do for lua in $(INTERPRETERS); do \
	  printf '\n== %s\n' "$$lua $$script"; $$lua "$$script" || exit; \
	done; done

# Runs both sides in one process and on the same memory. The kernels are built as a C library.
bench-numpy: numpy ## compare the kernels with NumPy, which it installs under target/numpy; ARGS=--torch adds PyTorch
	@tools/need luajit
	@$(MAKE) build
	target/numpy/bin/python bench/versus_numpy.py $(ARGS)

bench-strided: numpy ## compare strided copies with NumPy; ARGS=--quick takes a third of the rounds
	target/numpy/bin/python bench/strided.py $(ARGS)

bench-conversions: numpy ## compare every conversion with NumPy and ml_dtypes; ARGS=--torch adds PyTorch
	target/numpy/bin/python bench/conversions.py $(ARGS)

bench-formats: python ## compare safetensors, npy and npz files with Python's libraries; ARGS=--quick takes smaller files
	@tools/need cargo cc luajit
	@$(MAKE) build
	target/numpy/bin/python bench/formats.py $(ARGS)

bench-answers: python ## compare sums, extremes, order and nearest rows with NumPy and faiss; ARGS=--quick takes a third of the rounds
	@tools/need cargo cc luajit
	@$(MAKE) build
	@target/numpy/bin/python -c 'import faiss' 2>/dev/null || target/numpy/bin/pip install --quiet faiss-cpu || echo 'faiss cannot be installed here'
	target/numpy/bin/python bench/answers.py $(ARGS)
	target/numpy/bin/python bench/order.py

# On a machine that does nothing else.
bench-results: numpy ## measure what the documentation shows, into bench/results; a quarter of an hour
	@tools/need cargo cc lua5.1 lua5.4 luajit luajit-rolling
	@for lua in $(INTERPRETERS); do $(MAKE) build LUA="$${lua%% *}" || exit; done
	@mkdir -p bench/results && rm -f bench/results/*.tsv
	@export TSV=bench/results; \
	for lua in $(INTERPRETERS); do printf '\n== %s\n' "$$lua bench/access.lua"; $$lua bench/access.lua || :; done; \
	for script in small tensors growth front; do printf '\n== %s\n' "luajit bench/$$script.lua"; luajit "bench/$$script.lua" || :; done; \
	lua5.1 bench/small.lua; \
	target/numpy/bin/python bench/versus_numpy.py && \
	target/numpy/bin/python bench/versus_numpy.py --sizes && \
	target/numpy/bin/python bench/formats.py

bench-pictures: python ## write the tables and draw the pictures of the documentation from bench/results, the files of `make bench-results`
	@tools/need luajit
	luajit tools/figures.lua
	@target/numpy/bin/python -c 'import matplotlib' 2>/dev/null || target/numpy/bin/pip install --quiet matplotlib
	target/numpy/bin/python bench/pictures.py

test-numpy: numpy ## compare random views of tensors with those of NumPy; ROWS=100000
	target/numpy/bin/python tests/data/strides.py $(ROWS) target/strides.tsv
	STRIDES=target/strides.tsv cargo test --locked --features internals --test tensor numpy

test-answers: python ## compare sums, extremes, products and nearest rows of random tensors with NumPy; CASES=100000
	@tools/need cargo cc luajit
	@$(MAKE) build
	target/numpy/bin/python tests/python/answers.py $(CASES) luajit

test-python: python ## exchange files with safetensors, NumPy and ml_dtypes, which it installs under target/numpy; ROUNDS=100
	@tools/need cargo cc luajit busted
	@$(MAKE) build
	target/numpy/bin/python tests/python/round_trips.py $(ROUNDS) luajit
	@SPECS=spec/documentation/pages_spec.lua tools/test luajit

python:
	@test -x target/numpy/bin/python || python3 -m venv target/numpy
	@target/numpy/bin/python -c 'import numpy, ml_dtypes, safetensors' 2>/dev/null || \
	  target/numpy/bin/pip install --quiet numpy ml_dtypes safetensors

numpy: python
	@tools/need cargo cc
	@$(if $(findstring --torch,$(ARGS)),target/numpy/bin/python -c 'import torch' 2>/dev/null || \
	  target/numpy/bin/pip install --quiet torch==2.7.1 || echo 'PyTorch cannot be installed here')
	cargo build --release --locked --features internals --example kernels

test-windows: ## test the library for Windows under Wine, on luajit, lua5.1 and lua5.4; QUICK=1 takes a part of the specs on luajit
	@tools/platforms/windows

check-macos: ## compile and link the library for macOS, on both processors, without running it
	@tools/platforms/macos

# Valgrind rounds an integer of 64 bits twice on its way to single precision: the specs with the tag `rounding` notice it.
memcheck: ## run the specs under valgrind
	@tools/need cargo cc lua5.1 busted valgrind /usr/include/lua5.1/lua.h
	@$(MAKE) build hosts
	@SPECS="$$(echo spec/sharing/states*_spec.lua spec/hosts/c_api_*_spec.lua)" STATES_UNDER='$(VALGRIND)' STATES_PASSES=1000 STATES_SECONDS=600 tools/test lua5.1
	@EVERYTHING=1 LIMIT=3600 BUSTED=--exclude-tags=slow,large,process,rounding tools/test '$(VALGRIND) lua5.1'

# libFuzzer needs compiler flags that a stable compiler accepts only if RUSTC_BOOTSTRAP is set. Nobody uses this build for anything else.
fuzz: ## read changed files with libFuzzer; FORMAT=t7 (or npy, npz, safetensors), RUNS=100000
	@tools/need cargo cc c++ cargo-fuzz
	@mkdir -p fuzz/corpus/$(FORMAT)
	RUSTC_BOOTSTRAP=1 PATH="$(CURDIR)/.tools/bin:$$PATH" cargo fuzz run --target-dir target/fuzz $(FORMAT) fuzz/corpus/$(FORMAT) \
	  $(if $(filter t7,$(FORMAT)),fuzz/seeds/t7,tests/data/formats) -- -dict=fuzz/$(FORMAT).dict -runs=$(RUNS) \
	  -max_len=4096 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1

build: $(CORE) ## build the library for lua5.1 and luajit: build/torch/core.so; LUA=lua5.4 builds it for another Lua: build/5.4/torch/core.so

# The new library is moved into place, so that a process that has the old one open keeps it.
$(CORE): $(SOURCES)
	@tools/need cargo
	cargo build --release --locked --features $(FEATURE),module --target-dir '$(TARGET)'
	@mkdir -p $(@D)
	cp '$(BUILT)' $@.new
	mv -f $@.new $@

static: $(STATIC)/libtorch_storage.a ## build the library for programs that embed Lua: build/libtorch_storage.a for Lua 5.1; LUA=luajit, LUA=lua5.4 for others

$(STATIC)/libtorch_storage.a: $(SOURCES) $(wildcard lua/torch/*.lua src/lua/*.lua) tools/static
	@tools/need cargo cc
	tools/static $(STATIC_FEATURE) $(STATIC)

# The library for Open MPI is where core.so is, and that for another MPI NAME in build/NAME.
MPI_ROOT = build$(if $(filter-out openmpi,$(MPI)),/$(MPI))$(SUBDIR)
MPI_BUILT = $(MPI_ROOT)/torch/mpi.so
MPI_PATH = $(CURDIR)/$(MPI_ROOT)/?.so;$(CURDIR)/build$(SUBDIR)/?.so;;

mpi: ## build torch.mpi for the MPI library of mpicc; MPI=mpich takes MPICH
	@tools/need cargo cc $(MPI) libclang
	@$(MAKE) $(MPI_BUILT)

$(MPI_BUILT): $(MPI_SOURCES)
	MPICC=$(MPICC) cargo build --release --locked --manifest-path mpi/Cargo.toml --target-dir '$(MPI_TARGET)' --features $(FEATURE)
	@mkdir -p $(@D)
	cp '$(MPI_TARGET)/release/libtorch_mpi.$(if $(filter Darwin,$(shell uname)),dylib,so)' $@.new
	mv -f $@.new $@

test-mpi: ## run the specs of torch.mpi with mpirun, on 2, 3 and 4 ranks; RANKS=2, MPI=mpich, SPECS=mpi/spec/x.lua
	@tools/need cargo cc lua5.1 luajit luarocks $(MPI) libclang /usr/include/lua$(VERSION)/lua.h
	@$(MAKE) build
	@$(MAKE) mpi
	cc -std=c99 -fsyntax-only -Iinclude -I/usr/include/lua$(VERSION) mpi/spec/header.c
	cc -O1 -shared -fPIC -I/usr/include/lua$(VERSION) -o build$(SUBDIR)/mpi_host.so mpi/spec/host.c
	@LUA_CPATH='$(MPI_PATH)' LUA_CPATH_$(subst .,_,$(VERSION))='$(MPI_PATH)' MPI=$(MPI) MPIRUN=$(MPIRUN) RANKS='$(RANKS)' \
	  luajit mpi/spec/run.lua $(MPI_INTERPRETERS)

bench-mpi: ## compare torch.mpi with the same program in C
	@tools/need cargo cc luajit $(MPI) libclang
	@$(MAKE) build
	@$(MAKE) mpi
	$(MPICC) -std=c99 -O2 -o build/mpi_bench mpi/bench/plain.c
	luajit mpi/bench/run.lua $(MPIRUN)

hosts: $(HOSTS)

build/states-lua5.%: spec/support/states.c
	@mkdir -p build
	cc $(HOST_CFLAGS) -I/usr/include/lua5.$* -o $@ $< -llua5.$*

build/states-lua5.5: spec/support/states.c .tools/lua5.5/liblua.a
	@mkdir -p build
	cc $(HOST_CFLAGS) -I.tools/lua5.5/include -Wl,-E -o $@ $^ -lm -ldl

.tools/lua5.5/liblua.a:
	@tools/need cargo cc lua5.5

build/states-luajit: spec/support/states.c
	@mkdir -p build
	cc $(HOST_CFLAGS) -I/usr/include/luajit-2.1 -o $@ $< -lluajit-5.1

install: $(CORE) ## install into PREFIX (/usr/local), for the interpreter LUA; DESTDIR is honoured
	install -d '$(DESTDIR)$(LUADIR)/torch' '$(DESTDIR)$(LIBDIR)/torch'
	install -m 644 lua/torch/*.lua '$(DESTDIR)$(LUADIR)/torch'
	install -m 755 $(CORE) '$(DESTDIR)$(LIBDIR)/torch'
	install -d '$(DESTDIR)$(INCDIR)'
	install -m 644 include/torch_storage.h include/torch_storage.hpp '$(DESTDIR)$(INCDIR)'
	@if [ -e $(STATIC)/libtorch_storage.a ]; then $(MAKE) install-static; fi
	install -d '$(DESTDIR)$(DOCDIR)'
	tar -cf - --exclude=examples/nginx/temp $(DOCUMENTS) | tar -xof - -C '$(DESTDIR)$(DOCDIR)'

# In a folder for each Lua: PKG_CONFIG_PATH=/usr/local/lib/torch-storage/5.4, for example.
install-static: $(STATIC)/libtorch_storage.a ## install the static library into PREFIX/lib/torch-storage/VERSION; LUA=luajit into .../luajit
	install -d '$(DESTDIR)$(STATICDIR)' '$(DESTDIR)$(INCDIR)'
	install -m 644 include/torch_storage.h include/torch_storage.hpp '$(DESTDIR)$(INCDIR)'
	install -m 644 $(STATIC)/libtorch_storage.a '$(DESTDIR)$(STATICDIR)'
	tools/static --package '$(DESTDIR)$(STATICDIR)' ../../../include

release: ## make the files of the release in target/release-files; PLATFORM=aarch64-unknown-linux-musl and LUA=lua5.4 make a part
	@PLATFORM='$(PLATFORM)' LUA='$(LUA)' ADDRESS='$(ADDRESS)' tools/release/make

test-release: ## install the files of the release and run them, on each platform that can run here; PLATFORM= takes one
	@PLATFORM='$(PLATFORM)' tools/release/try

install-mpi: $(MPI_BUILT) ## install torch.mpi into PREFIX, next to the library
	install -d '$(DESTDIR)$(LIBDIR)/torch'
	install -m 755 $(MPI_BUILT) '$(DESTDIR)$(LIBDIR)/torch'

clean: ## remove everything that was built
	rm -rf build target
