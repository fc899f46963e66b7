# Each target runs scripts in ci/, which can also be run alone.

SHELL := bash
STAGE := ci/stage.sh
DIR ?= target/demo
DIR_MPI := $(if $(filter target/demo,$(DIR)),target/demo-mpi,$(DIR))

.PHONY: help setup build install uninstall test view book demo demo-mpi bench soak fuzz

help:  ## list the targets
	@sed -n "s/^\([a-z-]*\):.*## /  make \1\t/p" Makefile | expand -t 20

setup:  ## install and fetch what the build needs (does nothing if all of it is there)
	@ci/setup.sh

build:  ## build the command, its manual pages and its completion scripts
	@ci/install-files.sh build

install:  ## build and install them [PREFIX=/usr/local DESTDIR= PROFILE=release]
	@ci/install-files.sh install

uninstall:  ## remove what `make install` has installed, with the same PREFIX and DESTDIR
	@ci/install-files.sh uninstall

test:  ## check everything: format, lints, packages, tests, the page, documentation, fuzzing
	@$(STAGE) --first
	@$(STAGE) setup ci/setup.sh
	@$(STAGE) python ci/python-env.sh
	@$(STAGE) fmt ci/fmt.sh
	@$(STAGE) clippy ci/clippy.sh
	@$(STAGE) msrv ci/msrv.sh
	@$(STAGE) package ci/package.sh
	@$(STAGE) deny ci/deny.sh
	@$(STAGE) dependencies python3 ci/dependencies.py
	@$(STAGE) packaging python3 ci/packaging.py
	@$(STAGE) cycles ci/cycles.sh
	@$(STAGE) test ci/test.sh
	@$(STAGE) view ci/view.sh
	@$(STAGE) bindings-c ci/bindings-c.sh
	@$(STAGE) bindings-python ci/bindings-python.sh
	@$(STAGE) bindings-conformance ci/bindings-conformance.sh
	@$(STAGE) lammps ci/lammps.sh
	@$(STAGE) mpi ci/mpi.sh
	@$(STAGE) no-files ci/no-files.sh
	@$(STAGE) install ci/install.sh
	@$(STAGE) book ci/book.sh
	@$(STAGE) doc ci/doc.sh
	@$(STAGE) loom ci/loom.sh
	@$(STAGE) fuzz ci/fuzz.sh 10
	@$(STAGE) --summary

view:  ## test the page of the live view in a headless browser
	@ci/view.sh

book:  ## check the links of all pages, and build the book of them in target/book
	@ci/book.sh

demo: setup  ## run a simulation; view, checkpoint, kill, continue it; two minutes [DIR=target/demo]
	@ci/demo.sh --dir "$(DIR)"

demo-mpi: setup  ## kill a rank and lose a host of a job with MPI, and continue it [DIR=target/demo-mpi]
	@ci/demo-mpi.sh --dir "$(DIR_MPI)"

bench: setup  ## measure, compare with other methods, rewrite docs/performance.md; over an hour [MIB=128]
	@ci/bench.sh

soak: setup  ## run the long tests
	@ci/soak.sh

fuzz:  ## fuzz the readers of untrusted bytes, for about a minute
	@ci/fuzz.sh
