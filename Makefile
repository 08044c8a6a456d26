# The front door.  meson and ninja do the work; this knows how to call them.

CC ?= gcc
BUILD = build

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# Build, then one real MCP session over the bundled sample.
run:
	@scripts/setup run
	@$(MAKE) --no-print-directory all
	@scripts/demo $(BUILD)

# Every test, twice: gcc, then clang with AddressSanitizer and UBSan.  Last line:
# "N passed, N failed".
check:
	@scripts/setup check
	@scripts/check

# The tests that take seconds: for each save.
quick: all
	@scripts/check quick

lint:
	@scripts/setup check
	@scripts/lint

# Each fuzz target for FUZZ_SECONDS (60).
fuzz:
	@scripts/setup check
	@scripts/fuzz

bench:
	@scripts/setup bench
	@bench/run

install: all
	@ninja -C $(BUILD) install

clean:
	rm -rf build build-*

$(BUILD)/build.ninja:
	@CC=gcc meson setup $(BUILD) >/dev/null

.PHONY: all run check quick lint fuzz bench install clean
