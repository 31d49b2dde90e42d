# make              build/libtilewright.a and build/tw
# make check        every test; ends with "N passed, N failed"
# make install      PREFIX=/usr/local DESTDIR=
# make fuzz         libFuzzer (clang) on the parsers, FUZZ_SECONDS=60 each
# make clean
#
# SAN=1 builds into build/san with the address and undefined-behaviour
# sanitizers. CC, CFLAGS and LDFLAGS may be set as usual (CFLAGS='-O0 -g' to debug).

CC ?= cc
CFLAGS ?= -O1
PREFIX ?= /usr/local
B := build

STD := -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -Iinclude
WARN := -Wall -Wextra -Wswitch-enum -Werror
# Jansson whole within the program where its archive is at hand: one binary runs everywhere.
JANSSON := $(if $(wildcard /usr/lib/libjansson.a /usr/lib/*/libjansson.a /usr/local/lib/libjansson.a),-l:libjansson.a,-ljansson)
LIBS := $(JANSSON) -lm -ldl

ifeq ($(SAN),1)
B := build/san
SANITIZE := -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

ifeq ($(FUZZ),1)
B := build/fuzz
SANITIZE := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
endif

ALL_CFLAGS = $(STD) $(WARN) $(CFLAGS) $(SANITIZE) -MMD -MP

lib_src := $(sort $(shell find src -name '*.c' -not -path 'src/cli/*'))
cli_src := $(sort $(wildcard src/cli/*.c))
test_src := $(sort $(wildcard tests/test_*.c))
help_src := $(sort $(filter-out $(test_src) tests/fuzz/main.c,$(wildcard tests/*.c tests/mutate/*.c tests/fuzz/*.c)))

lib_obj := $(lib_src:%.c=$B/obj/%.o) $B/obj/cute_header.o
cli_obj := $(cli_src:%.c=$B/obj/%.o)
test_obj := $(test_src:%.c=$B/obj/%.o)
help_obj := $(help_src:%.c=$B/obj/%.o)
test_bin := $(test_src:tests/%.c=$B/%)
test_sh := $(sort $(wildcard tests/*.sh))

lib := $B/libtilewright.a
tw := $(if $(cli_src),$B/tw)

all: $(lib) $(tw)

# What computes on data or rates thousands of choices is worth the compiler's time; the rest is quick anyhow,
# and a clean build should be as well. The emulator executes warps as vectors of
# 32 lanes.
hot := lang/lexer lang/lines lang/tree lang/eval base/arena base/slab base/str base/number data ref/gemm ref/elem_run ref/rows ref/store tile emu affine reason layout ptx pass fuse
$(foreach h,$(hot),$(filter $B/obj/src/$h%,$(lib_obj))): CFLAGS += -O2
$B/obj/tests/mutate/machine%.o: CFLAGS += -O2
$B/obj/src/emu/exec_%.o: CFLAGS += -O3 -ftree-vectorize

# Objects are made again when the flags that make them change.
$B/obj/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The header that translations include, as text within the library.
$B/cute_header.c: include/tilewright_cute.cuh
	@mkdir -p $(@D)
	@{ echo 'extern const char cute_header[]; const char cute_header[] ='; \
	   sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $<; echo ';'; } >$@

$B/obj/cute_header.o: $B/cute_header.c $B/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

flags := $(CC) $(STD) $(WARN) $(CFLAGS) $(SANITIZE)
$B/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' >$@

# The list of members is part of what an archive is made of: a source that was
# removed must not live on in it.
$(lib): $(lib_obj) $B/members
	@rm -f $@
	$(AR) rcs $@ $(lib_obj)

$B/members: FORCE
	@mkdir -p $(@D)
	@echo '$(lib_obj) $(help_obj)' | cmp -s - $@ || echo '$(lib_obj) $(help_obj)' >$@

$B/tw: $(cli_obj) $(lib)
	$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $(cli_obj) $(lib) $(LIBS)

# What several tests share stands in tests/*.c without the prefix.
$B/libtests.a: $(help_obj) $B/members
	@rm -f $@
	$(AR) rcs $@ $(help_obj)

$B/test_%: $B/obj/tests/test_%.o $B/libtests.a $(lib)
	$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $< $B/libtests.a $(lib) -lcmocka $(LIBS)

tests: $(test_bin)

check: all tests
	@TW=$(tw) LOGS=$B/log scripts/run-tests $(test_bin) $(test_sh)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
	install -d $(DESTDIR)$(PREFIX)/share/tilewright/ops $(DESTDIR)$(PREFIX)/share/doc/tilewright
	install -m 755 $(tw) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(lib) $(DESTDIR)$(PREFIX)/lib/
	install -m 644 $(wildcard include/*.h include/*.cuh) $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(wildcard ops/*.tl) $(DESTDIR)$(PREFIX)/share/tilewright/ops/
	install -m 644 LICENSE README.md $(wildcard docs/*.md) $(DESTDIR)$(PREFIX)/share/doc/tilewright/

clean:
	rm -rf build

fuzz_src := $(sort $(wildcard tests/fuzz/*.c))
fuzz_bin := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(filter tests/fuzz/fuzz_%,$(fuzz_src)))
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 60

# What a fuzzer found worth keeping stands in build/fuzz/found; trouble ends the
# run, and the input that made it lies in build/fuzz.
fuzz:
	$(MAKE) FUZZ=1 CC=$(FUZZ_CC) $(fuzz_bin)
	@for f in $(fuzz_bin); do scripts/fuzz $$f $(FUZZ_SECONDS) || exit 1; done

build/fuzz/fuzz_%: tests/fuzz/main.c $(fuzz_src:%.c=build/fuzz/obj/%.o) $(lib)
	$(CC) $(STD) -DTARGET=fuzz_$* $(CFLAGS) -fsanitize=fuzzer,address,undefined $(LDFLAGS) -o $@ \
	    $< $(filter-out %/main.o,$(filter %.o,$^)) $(lib) $(LIBS)

FORCE:
.PHONY: all tests check install clean fuzz FORCE
.SECONDARY: $(test_obj) $(help_obj)

-include $(lib_obj:.o=.d) $(cli_obj:.o=.d) $(test_obj:.o=.d) $(help_obj:.o=.d)
