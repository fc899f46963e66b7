# What can be done here. Each target runs small scripts in ci/, which can be run alone as well.

SHELL := bash
STAGE := ci/stage.sh
DIR ?= target/demo

.PHONY: help setup test view demo bench soak fuzz

help:  ## list the targets
	@sed -n "s/^\([a-z]*\):.*## /  make \1\t/p" Makefile | expand -t 16

setup:  ## install what the build needs (asks for nothing when it is all there)
	@ci/setup.sh

test:  ## check everything: format, lints, tests, the page in a browser, documentation, interleavings, fuzzing
	@$(STAGE) --first
	@$(STAGE) setup ci/setup.sh
	@$(STAGE) python ci/python-env.sh
	@$(STAGE) fmt ci/fmt.sh
	@$(STAGE) clippy ci/clippy.sh
	@$(STAGE) test ci/test.sh
	@$(STAGE) view ci/view.sh
	@$(STAGE) doc ci/doc.sh
	@$(STAGE) loom ci/loom.sh
	@$(STAGE) fuzz ci/fuzz.sh 15
	@$(STAGE) --summary

view:  ## the page of the live view in a browser without a screen
	@ci/view.sh

demo: setup  ## watch a simulation, checkpoint it, kill it, continue it: two minutes [DIR=target/demo]
	@ci/demo.sh --dir "$(DIR)"

bench:  ## measure, and compare with others; rewrites docs/performance.md (an hour) [MIB=128]
	@ci/bench.sh

soak:  ## the long tests
	@ci/soak.sh

fuzz:  ## bytes from outside, for about a minute
	@ci/fuzz.sh
