# Common targets; CMake does the work. `make help` lists them.

CMAKE ?= cmake
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
FUZZ_OPTIONS ?=
# LONG=--long: every damage of the suite mutate
LONG ?=
# SDIST=--sdist: python-check also builds the sdist, and a wheel from it without a network
SDIST ?=

# Builds a preset, or one target of it. MAKEFLAGS is cleared so that -j of this make does not reach the
# inner one.
build = @MAKEFLAGS= $(CMAKE) --build build/$(1) $(2) -j $(JOBS) -- --no-print-directory -s

.PHONY: all release demo check check-long check-32 interop asan integer tsan bench fuzz fuzz-merge fuzz-scan \
	fuzz-safetensors coverage lint fmt bless install package static cross check-install clean help bootstrap \
	bootstrap-dev bootstrap-32 bootstrap-cross bootstrap-python python python-check

all: release

build/%/Makefile: CMakePresets.json CMakeLists.txt $(wildcard cmake/*) | bootstrap
	@mkdir -p build
	@$(CMAKE) --preset $* >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@touch $@

release: bootstrap build/release/Makefile ## build/release/heft, libheft.so, libheft.a (the default)
	$(call build,release,--target product)

demo: release ## convert a real 89 MB checkpoint to verified shards; compare the time with cp
	@scripts/demo

check: bootstrap build/release/Makefile ## run all tests that need only this machine (about three minutes)
	$(call build,release)
	@tests/run --build build/release

python: bootstrap-python ## the wheel of the Python package, in build/python
	@scripts/python-wheel

python-check: bootstrap-python ## test the wheel, without torch and numpy and with both; SDIST=--sdist: also its sources
	@scripts/python-wheel
	@tests/python/run $(SDIST)

check-long: check bootstrap-python build/asan/Makefile ## check, then all tests under sanitizers with every damaged file (hours)
	@tests/run --build build/release --only fault --long
	@scripts/python-wheel
	@tests/python/run --long
	@scripts/bootstrap spark
	@tests/interop/run spark
	@tests/interop/run zero
	$(call build,asan)
	@tests/run --build build/asan --long
	@$(MAKE) --no-print-directory integer LONG=--long
	@if scripts/bootstrap 32; then $(MAKE) --no-print-directory check-32 LONG=--long; \
	else echo "check-32: skipped, the compiler and libraries for 32-bit x86 cannot be installed here"; fi
	@if scripts/bootstrap cross; then scripts/cross; \
	else echo "cross: skipped, the compilers for other processors cannot be installed here"; fi

check-32: bootstrap-32 build/asan-32/Makefile ## unit tests, golden, rejected and damaged files on 32-bit x86, under sanitizers
	$(call build,asan-32)
	@tests/run --build build/asan-32 --only unit,golden,reject,quantized,mutate $(LONG)

build/asan-32/Makefile: build/isal-i686/libisal.pc
build/isal-i686/libisal.pc: | bootstrap-32
	@scripts/isal-portable i686-linux-gnu-gcc build/isal-i686

interop: release bootstrap-python ## exchange files with the real frameworks (installed by pip, once)
	$(call build,release,--target heft-safetensors-pipe)
	@scripts/python-wheel >/dev/null || echo "interop: without the wheel the suite engines fails" >&2
	@tests/interop/run

asan: bootstrap build/asan/Makefile ## build with AddressSanitizer and UBSan, and test with it
	$(call build,asan)
	@tests/run --build build/asan

integer: bootstrap-dev build/integer/Makefile ## build with clang's sanitizers, also those of integers, and test with it
	$(call build,integer)
	@tests/run --build build/integer --only unit,golden,reject,quantized,fuzz,mutate $(LONG)

tsan: bootstrap build/tsan/Makefile ## build with ThreadSanitizer, and run the unit tests with it
	$(call build,tsan)
	@tests/run --build build/tsan --only unit

bench: release ## compare with every peer, and write bench/report.md (about 25 minutes)
	@bench/run --hold-memory

fuzz: bootstrap-dev build/fuzz/Makefile ## run each fuzz target for FUZZ_SECONDS (60), two at a time; FUZZ_OPTIONS=--record
	$(call build,fuzz,--target fuzz_targets)
	@scripts/fuzz build/fuzz $(FUZZ_SECONDS) $(FUZZ_OPTIONS)

fuzz-merge: bootstrap-dev build/fuzz/Makefile ## add what make fuzz has found to fuzz/corpus, minimised
	$(call build,fuzz,--target fuzz_targets)
	@scripts/fuzz build/fuzz 0 --merge

fuzz-scan: bootstrap build/release/Makefile ## compare scan with a real CPython on random pickles for FUZZ_SECONDS
	$(call build,release,--target heft-judge-pipe)
	@python3 fuzz/differential/compare.py build/release --seconds $(FUZZ_SECONDS)

fuzz-safetensors: bootstrap build/release/Makefile ## compare safetensors files with the reference library for FUZZ_SECONDS
	$(call build,release,--target heft-safetensors-pipe)
	@python3 fuzz/differential/safetensors_compare.py build/release --seconds $(FUZZ_SECONDS)

coverage: bootstrap build/coverage/Makefile ## lines and branches that the tests reach, one line per file
	$(call build,coverage)
	@scripts/coverage build/coverage

lint: bootstrap-dev build/clang/Makefile ## dependencies, formatting, clang's warnings, clang-tidy
	$(call build,clang)
	@scripts/lint build/clang

fmt: bootstrap-dev ## format every source with clang-format
	@scripts/lint --fix

bless: release ## rewrite the expected outputs of golden and cli tests; review the diff
	@tests/run --build build/release --bless --only golden,cli,docs

install: release ## install to PREFIX (/usr/local), below DESTDIR if set
	@DESTDIR=$(DESTDIR) $(CMAKE) --install build/release --prefix $(abspath $(PREFIX))

package: bootstrap-dev ## build the Debian packages heft, libheft0.1 and libheft-dev in build/package
	@scripts/package

static: bootstrap-dev ## build/static/bin/heft: one executable with musl, without HDF5, snappy and libnettle
	@scripts/static

cross: bootstrap bootstrap-cross ## build for aarch64, armhf and s390x; run tests under qemu-user
	@scripts/cross

check-install: bootstrap-dev ## test the packages (lintian, a new root of Debian) and the static executable
	@tests/install/run

clean: ## remove build/
	@rm -rf build

bootstrap:
	@scripts/bootstrap

bootstrap-dev:
	@scripts/bootstrap dev

bootstrap-32:
	@scripts/bootstrap 32

bootstrap-cross:
	@scripts/bootstrap cross

bootstrap-python:
	@scripts/bootstrap python

help: ## list the targets
	@echo "make TARGET    (CMAKE=$(CMAKE) JOBS=$(JOBS) PREFIX=$(PREFIX))"
	@echo
	@awk -F ':[^#]*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile
