JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: help build test slow paper asan demo bench install clean setup

help:
	@echo 'make build              build the program: build/ick'
	@echo 'make demo               the same, then forecast a year of real weather with it'
	@echo 'make test               build and run the fast tests'
	@echo 'make bench              build and run the benchmarks'
	@echo 'make install [PREFIX=]  build and install library and program ($(PREFIX))'
	@echo 'make slow, paper, asan  the slow tests, the published results, the fast tests under the sanitizers'
	@echo 'make clean              remove build/'

build: build-release
	@ln -sfn release/bin/ick build/ick

demo: build
	@tools/demo

test: build-dev
	ctest --preset dev -j $(JOBS)

slow paper: build-dev
	ctest --preset $@

asan: build-asan
	ctest --preset asan -j $(JOBS)

bench: export OPENBLAS_NUM_THREADS = 1
bench: build-bench
	@for benchmark in build/bench/bin/*_benchmark; do \
	  if [ -x "$$benchmark" ]; then echo "$$benchmark"; "$$benchmark" || exit 1; fi; done

install: build-release
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build

setup:
	@tools/setup

# Only what is not for use alone has tests or benchmarks.
build-%:
	@tools/setup $(if $(filter release,$*),,test)
	cmake --preset $* --log-level=NOTICE
	cmake --build --preset $* -j $(JOBS)
