# The front door; CMake does the work. `make help` lists the targets.

CMAKE ?= cmake
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60

# Builds a preset, whole or a target of it. MAKEFLAGS is emptied so that -j of this make and of the
# inner one do not meet.
build = @MAKEFLAGS= $(CMAKE) --build build/$(1) $(2) -j $(JOBS) -- --no-print-directory -s

.PHONY: all release demo check check-long interop asan tsan bench fuzz fuzz-scan coverage lint fmt bless \
	install clean help bootstrap bootstrap-dev

all: release

build/%/Makefile: CMakePresets.json CMakeLists.txt $(wildcard cmake/*) | bootstrap
	@mkdir -p build
	@$(CMAKE) --preset $* >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@touch $@

release: bootstrap build/release/Makefile ## build/release/heft, libheft.so, libheft.a (the default)
	$(call build,release,--target product)

demo: release ## a real 89 MB checkpoint becomes verified shards, beside the time of cp
	@scripts/demo

check: bootstrap build/release/Makefile ## every test that needs only this machine (about two minutes)
	$(call build,release)
	@tests/run --build build/release

check-long: check build/asan/Makefile ## check, then all of it under sanitizers, every mutation too (an hour)
	@tests/run --build build/release --only fault --long
	$(call build,asan)
	@tests/run --build build/asan --long

interop: release ## heft and the real frameworks read each other's files (pip, once)
	@tests/interop/run

asan: bootstrap build/asan/Makefile ## build with AddressSanitizer and UBSan, and test with it
	$(call build,asan)
	@tests/run --build build/asan

tsan: bootstrap build/tsan/Makefile ## build with ThreadSanitizer, and run the unit tests with it
	$(call build,tsan)
	@tests/run --build build/tsan --only unit

bench: release ## the figures of doc/performance.md
	@bench/run

fuzz: bootstrap-dev build/fuzz/Makefile ## each fuzz target for FUZZ_SECONDS (60), from its corpus and dictionary
	$(call build,fuzz,--target fuzz_targets)
	@scripts/fuzz build/fuzz $(FUZZ_SECONDS)

fuzz-scan: bootstrap build/release/Makefile ## scan beside a real CPython for FUZZ_SECONDS, on pickles made at random
	$(call build,release,--target heft-judge-pipe)
	@python3 fuzz/differential/compare.py build/release --seconds $(FUZZ_SECONDS)

coverage: bootstrap build/coverage/Makefile ## lines and branches the tests reach, a line a file
	$(call build,coverage)
	@scripts/coverage build/coverage

lint: bootstrap-dev build/clang/Makefile ## rooms, layout (clang-format), clang's warnings, clang-tidy
	$(call build,clang)
	@scripts/lint build/clang

fmt: bootstrap-dev ## clang-format on every source
	@scripts/lint --fix

bless: release ## rewrite the expected outputs of golden and cli tests; review the diff
	@tests/run --build build/release --bless --only golden,cli,docs

install: release ## put it into PREFIX (/usr/local), under DESTDIR if given
	@DESTDIR=$(DESTDIR) $(CMAKE) --install build/release --prefix $(abspath $(PREFIX))

clean: ## remove build/
	@rm -rf build

bootstrap:
	@scripts/bootstrap

bootstrap-dev:
	@scripts/bootstrap dev

help: ## this screen
	@echo "make TARGET    (CMAKE=$(CMAKE) JOBS=$(JOBS) PREFIX=$(PREFIX))"
	@echo
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile
