# `make` alone lists the targets. tools/need installs the programs that a target needs, and says what they are for.

PREFIX = /usr/local
LUADIR = $(PREFIX)/share/lua/5.1
LIBDIR = $(PREFIX)/lib/lua/5.1
INCDIR = $(PREFIX)/include

# Of LuaJIT, Debian has a version of 2022 (luajit). The current one (rolling) and OpenResty's (luajit2) are in .tools.
INTERPRETERS = lua5.1 luajit 'luajit -joff' .tools/bin/luajit-rolling
MORE_INTERPRETERS = '.tools/bin/luajit-rolling -joff' .tools/bin/luajit2 '.tools/bin/luajit2 -joff'
VALGRIND = valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite
BUILT = $(or $(CARGO_TARGET_DIR),target)/release/libtorch_storage.$(if $(filter Darwin,$(shell uname)),dylib,so)
BENCHMARKS = $(filter-out bench/measurement.lua bench/sections.lua bench/plain_t7.lua,$(wildcard bench/*.lua))
SOURCES = $(wildcard Cargo.toml Cargo.lock build.rs .cargo/config.toml) $(shell find src -name '*.rs')
MAKE += --no-print-directory

# How many random views `make test-numpy` compares.
ROWS = 100000

# Which format `make fuzz` reads, and how many inputs it tries.
FORMAT = t7
RUNS = 100000

# torch.mpi is built for the MPI library of this compiler, in a folder of its own: MPI=mpich takes Debian's MPICH.
MPI = openmpi
MPICC = $(if $(shell command -v mpicc.$(MPI)),mpicc.$(MPI),mpicc)
MPIRUN = $(if $(shell command -v mpirun.$(MPI)),mpirun.$(MPI),mpirun)
MPI_TARGET = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/$(MPI)
MPI_SOURCES = $(wildcard mpi/Cargo.toml mpi/Cargo.lock mpi/build.rs mpi/src/*)
MPI_INTERPRETERS = luajit lua5.1
RANKS = 2 3 4

# A program with several Lua states, for the specs. SANITIZE='-fsanitize=thread', for example, adds a compiler option.
HOSTS = build/states-lua5.1 build/states-luajit
HOST_CFLAGS = -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread $(SANITIZE)

# rustup adds the directory of cargo to the PATH of login shells only.
export PATH := $(PATH):$(HOME)/.cargo/bin
export LUA_PATH := $(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;
export LUA_CPATH := $(CURDIR)/build/?.so;;

.PHONY: help demo test test-all check build dtypes bench bench-numpy bench-strided bench-conversions test-numpy numpy memcheck fuzz mpi test-mpi bench-mpi install install-mpi clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1	/p' Makefile | awk -F '\t' '{ printf "make %-18s %s\n", $$1, $$2 }'

demo: ## install what is missing, build, and run examples/tour.lua
	@tools/need cargo cc luajit
	@$(MAKE) build
	luajit examples/tour.lua

test: ## run every test; SPECS='spec/x/y_spec.lua' and FILTER='pattern' run some specs only, JOBS=1 one at a time
	@tools/need cargo cc lua5.1 luajit luajit-rolling busted luarocks /usr/include/lua5.1/lua.h /usr/include/luajit-2.1/lua.h
	@tools/need --try nginx tarantool nvim curl valgrind
	@$(MAKE) build $(HOSTS)
	@tools/test $(if $(SPECS)$(FILTER),,rust) $(INTERPRETERS)

test-all: ## run every test on more interpreters: also the current LuaJIT without its JIT, and OpenResty's with and without
	@tools/need luajit2
	@$(MAKE) test INTERPRETERS="$(INTERPRETERS) $(MORE_INTERPRETERS)"

check: ## check formatting, lints and documentation
	@tools/need cargo cc cargo-fmt cargo-clippy luajit luacheck stylua
	@$(MAKE) build
	@tools/check

dtypes: ## write the declarations and tables that follow from the list of dtypes, in src/element.rs
	@tools/need cargo cc luajit
	@$(MAKE) build
	luajit tools/dtypes.lua

bench: ## run the benchmarks on the interpreters of `make test`
	@tools/need cargo cc lua5.1 luajit luajit-rolling
	@$(MAKE) build
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

test-numpy: numpy ## compare random views of tensors with those of NumPy; ROWS=100000
	target/numpy/bin/python tests/data/strides.py $(ROWS) target/strides.tsv
	STRIDES=target/strides.tsv cargo test --locked --test tensor numpy

numpy:
	@tools/need cargo cc
	@test -x target/numpy/bin/python || python3 -m venv target/numpy
	@target/numpy/bin/python -c 'import numpy, ml_dtypes' 2>/dev/null || target/numpy/bin/pip install --quiet numpy ml_dtypes
	@$(if $(findstring --torch,$(ARGS)),target/numpy/bin/python -c 'import torch' 2>/dev/null || \
	  target/numpy/bin/pip install --quiet torch==2.7.1 || echo 'PyTorch cannot be installed here')
	cargo build --release --locked --example kernels

# Valgrind rounds an integer of 64 bits twice on its way to single precision: the specs with the tag `rounding` notice it.
memcheck: ## run the specs under valgrind
	@tools/need cargo cc lua5.1 busted valgrind /usr/include/lua5.1/lua.h
	@$(MAKE) build build/states-lua5.1
	@SPECS="$$(echo spec/sharing/states*_spec.lua) spec/hosts/c_api_spec.lua" STATES_UNDER='$(VALGRIND)' STATES_PASSES=1000 STATES_SECONDS=600 tools/test lua5.1
	@LIMIT=3600 BUSTED=--exclude-tags=slow,large,process,rounding tools/test '$(VALGRIND) lua5.1'

# libFuzzer needs compiler flags that a stable compiler accepts only if RUSTC_BOOTSTRAP is set. Nobody uses this build for anything else.
fuzz: ## read changed files with libFuzzer; FORMAT=t7 (or npy, npz, safetensors), RUNS=100000
	@tools/need cargo cc c++ cargo-fuzz
	@mkdir -p fuzz/corpus/$(FORMAT)
	RUSTC_BOOTSTRAP=1 PATH="$(CURDIR)/.tools/bin:$$PATH" cargo fuzz run --target-dir target/fuzz $(FORMAT) fuzz/corpus/$(FORMAT) \
	  $(if $(filter t7,$(FORMAT)),fuzz/seeds/t7,tests/data/formats) -- -dict=fuzz/$(FORMAT).dict -runs=$(RUNS) \
	  -max_len=4096 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1

build: build/torch/core.so ## build the library: build/torch/core.so

# The new library is moved into place, so that a process that has the old one open keeps it.
build/torch/core.so: $(SOURCES)
	@tools/need cargo
	cargo build --release --locked --features lua51,module
	@mkdir -p build/torch
	cp $(BUILT) build/torch/core.so.new
	mv -f build/torch/core.so.new $@

# Open MPI lies in build, any other library in build/NAME.
MPI_BUILT = build/$(if $(filter openmpi,$(MPI)),,$(MPI)/)torch/mpi.so

mpi: ## build torch.mpi for the MPI library of mpicc; MPI=mpich takes MPICH
	@tools/need cargo cc $(MPI) libclang
	@$(MAKE) $(MPI_BUILT)

$(MPI_BUILT): $(MPI_SOURCES)
	MPICC=$(MPICC) cargo build --release --locked --manifest-path mpi/Cargo.toml --target-dir '$(MPI_TARGET)' --features lua51
	@mkdir -p $(@D)
	cp '$(MPI_TARGET)/release/libtorch_mpi.$(if $(filter Darwin,$(shell uname)),dylib,so)' $@.new
	mv -f $@.new $@

test-mpi: ## run the specs of torch.mpi with mpirun, on 2, 3 and 4 ranks; RANKS=2, MPI=mpich, SPECS=mpi/spec/x.lua
	@tools/need cargo cc lua5.1 luajit $(MPI) libclang /usr/include/lua5.1/lua.h
	@$(MAKE) build
	@$(MAKE) mpi
	cc -std=c99 -fsyntax-only -Iinclude -I/usr/include/lua5.1 mpi/spec/header.c
	cc -O1 -shared -fPIC -I/usr/include/lua5.1 -o build/mpi_host.so mpi/spec/host.c
	@MPI=$(MPI) LUA_CPATH='$(CURDIR)/$(patsubst %/torch/mpi.so,%,$(MPI_BUILT))/?.so;$(LUA_CPATH)' MPIRUN=$(MPIRUN) RANKS='$(RANKS)' luajit mpi/spec/run.lua $(MPI_INTERPRETERS)

bench-mpi: ## compare torch.mpi with the same program in C
	@tools/need cargo cc luajit $(MPI) libclang
	@$(MAKE) build
	@$(MAKE) mpi
	$(MPICC) -std=c99 -O2 -o build/mpi_bench mpi/bench/plain.c
	luajit mpi/bench/run.lua $(MPIRUN)

build/states-lua5.1: spec/support/states.c
	@mkdir -p build
	cc $(HOST_CFLAGS) -I/usr/include/lua5.1 -o $@ $< -llua5.1

build/states-luajit: spec/support/states.c
	@mkdir -p build
	cc $(HOST_CFLAGS) -I/usr/include/luajit-2.1 -o $@ $< -lluajit-5.1

install: build/torch/core.so ## install into PREFIX (/usr/local); DESTDIR is honoured
	install -d '$(DESTDIR)$(LUADIR)/torch' '$(DESTDIR)$(LIBDIR)/torch'
	install -m 644 lua/torch/*.lua '$(DESTDIR)$(LUADIR)/torch'
	install -m 755 build/torch/core.so '$(DESTDIR)$(LIBDIR)/torch'
	install -d '$(DESTDIR)$(INCDIR)'
	install -m 644 include/torch_storage.h '$(DESTDIR)$(INCDIR)'

install-mpi: $(MPI_BUILT) ## install torch.mpi into PREFIX, next to the library
	install -d '$(DESTDIR)$(LIBDIR)/torch'
	install -m 755 $(MPI_BUILT) '$(DESTDIR)$(LIBDIR)/torch'

clean: ## remove everything that was built
	rm -rf build target
