JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: help test slow paper asan demo bench release install clean setup

help:
	@echo 'make test               build and run the fast tests'
	@echo 'make demo               build the program and show what it does'
	@echo 'make bench              build and run the benchmarks'
	@echo 'make install [PREFIX=]  build and install library and program ($(PREFIX))'
	@echo 'make slow, paper, asan  the slow tests, the published results, the fast tests under the sanitizers'
	@echo 'make clean              remove build/'

test: build-dev
	ctest --preset dev -j $(JOBS)

slow paper: build-dev
	ctest --preset $@

asan: build-asan
	ctest --preset asan -j $(JOBS)

demo: build-release
	tools/demo

bench: export OPENBLAS_NUM_THREADS = 1
bench: build-bench
	@for benchmark in build/bench/bin/*_benchmark; do \
	  if [ -x "$$benchmark" ]; then echo "$$benchmark"; "$$benchmark" || exit 1; fi; done

release: build-release

install: build-release
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build

setup:
	@tools/setup

build-%: setup
	cmake --preset $* --log-level=NOTICE
	cmake --build --preset $* -j $(JOBS)
