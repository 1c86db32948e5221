# Sandlot. `make help` lists what there is.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CFLAGS ?= -O2 -g
CXXFLAGS ?= -O2 -g
# Sanitizer flags, for everything but the keeper, and for the keeper with the boxes that it starts.
SANITIZE ?=
SANITIZE_KEEPER ?= $(SANITIZE)
# Behind all others, for what is in tests/unit alone: nobody ships it, and nothing that runs feels that it is not optimised, but its compiler
# takes half the time. What it tests is compiled with CFLAGS, as ever. (_FORTIFY_SOURCE needs an optimising compiler.)
TEST_FLAGS ?= -O0 -g1 -U_FORTIFY_SOURCE
FUZZ_SECONDS ?= 60
INSTALL ?= install

# make predefines CC as cc and CXX as g++; a newcomer's machine has gcc, and with CC=clang the C++ file follows.
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif

# The goals that do a whole job by themselves use every processor; all others leave that to -j.
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
ifneq ($(filter run check check-all check-vendors fault-run bench fuzz,$(MAKECMDGOALS)),)
MAKEFLAGS += -j$(JOBS)
endif

, := ,
VERSION := $(shell sed -n 's/^.define SANDLOT_VERSION "\(.*\)"/\1/p' include/sandlot/sandlot.h)
SONAME := libsandlot.so.0
ABI := $(shell sed -n 's/^.define SANDLOT_ABI_MAJOR //p' include/sandlot/provider.h)

WARNINGS := -Wall -Wextra -Werror -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wpointer-arith -Wwrite-strings -Wundef -Wimplicit-fallthrough
# _FORTIFY_SOURCE needs an optimising compiler, and would hide accesses from the sanitizers.
FORTIFY := $(if $(SANITIZE)$(filter -O0,$(CFLAGS)),,-D_FORTIFY_SOURCE=2)
COMMON := -D_GNU_SOURCE -fPIC -fvisibility=hidden -fstack-protector-strong -MMD -MP -Iinclude
CORE_FLAGS := -Icore
# Each provider sees its own folder only.
PLUGIN_FLAGS = -Isdk/include $(foreach folder,plugins/$(word 2,$(subst /, ,$<)),-I$(folder) -I$(BUILD)/$(folder))
LOCAL_FLAGS := -Isdk/include -Iplugins/local
C_FLAGS = -std=c11 $(COMMON) $(FORTIFY) $(WARNINGS) $(CFLAGS)
CXX_FLAGS = -std=c++17 $(COMMON) $(FORTIFY) -Wall -Wextra -Werror $(CXXFLAGS)
LINK := -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(LDFLAGS)
# clang leaves the sanitizer's symbols of a shared object to the program that loads it.
LINK_SHARED := -shared $(LINK) $(if $(and $(SANITIZE),$(findstring clang,$(CC))),,-Wl,-z,defs)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all
all:

# One short line per step; V=1 shows the commands.
quiet = $(if $(V),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo '  $1 $@' && ))

# ---- packages and flags -----------------------------------------------------------------------------------------

# What these goals install by themselves; all others only look, and say what is missing.
PACKAGES := --check build
ifneq ($(filter run,$(MAKECMDGOALS)),)
PACKAGES := build
endif
ifneq ($(filter deb,$(MAKECMDGOALS)),)
PACKAGES := build deb
endif
ifneq ($(filter deps check-all,$(MAKECMDGOALS)),)
PACKAGES := build unit quick test deb
else ifneq ($(filter clients check check-vendors bench lint fuzz,$(MAKECMDGOALS)),)
PACKAGES := build unit quick test
endif

.PHONY: deps packages FORCE
packages:
	@config/install-packages.sh $(PACKAGES)

deps: packages

# Every object depends on this file, which changes when the compiler or a flag does. It also comes after the packages,
# without which nothing compiles.
$(BUILD)/flags: FORCE | packages
	@mkdir -p $(@D)
	@echo '$(CC) $(CXX) $(C_FLAGS) $(CXX_FLAGS) $(LINK) $(SANITIZE) $(SANITIZE_KEEPER) $(TEST_FLAGS)' | cmp -s - $@ || \
	    echo '$(CC) $(CXX) $(C_FLAGS) $(CXX_FLAGS) $(LINK) $(SANITIZE) $(SANITIZE_KEEPER) $(TEST_FLAGS)' > $@

# ---- core: libsandlot and the command ---------------------------------------------------------------------------

CORE_SOURCES := $(filter-out core/cli/% core/server/% core/results/writer/%,$(wildcard core/*/*.c core/*/*/*.c)) core/config/toml_tree.cc
CLI_SOURCES := $(wildcard core/cli/*.c core/server/*.c)
CORE_OBJECTS := $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(CORE_SOURCES))))
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/%.o)
# What is sent to sandboxes is shell: NAME.sh becomes strings of C, NAME.sh.c in the build folder; see shell/README.md.
CORE_SCRIPT_OBJECTS := $(patsubst %,$(BUILD)/%.o,$(wildcard core/*/*/*.sh))
CORE_OBJECTS += $(CORE_SCRIPT_OBJECTS)
EMBED = awk -v shared=shell/box.sh -f shell/embed.awk
SERVER_OBJECTS := $(filter $(BUILD)/core/server/%,$(CLI_OBJECTS))
CORE_LIBRARIES := -ljson-c -linih -lelf -lffi -lmd -ldl -lpthread -lm
# To find and relocate a shared object takes the command a tenth of a millisecond, and more of them longer than its work.
# libelf is one where it has to be: its archive in Debian 13 calls functions of elfutils that no archive has. So all of the
# archive is tried.
COMMAND_ELF = $(shell echo 'int main(void) { return 0; }' | $(CC) -x c -o /dev/null - -Wl,-Bstatic \
    -Wl,--whole-archive -lelf -Wl,--no-whole-archive -Wl,-Bdynamic -lz 2>/dev/null && \
    echo -Wl,-Bstatic -lelf -Wl,-Bdynamic -lz || echo -lelf)
COMMAND_LIBRARIES = -Wl,-Bstatic -ljson-c -linih -lffi -lmd -lstdc++ -lm -Wl,-Bdynamic $(COMMAND_ELF) -ldl -lpthread
# The thousands of pointers in it take a fraction of the pages. By the C compiler, for that of C++ adds a libm that nothing needs.
COMMAND_LINK = $(CC) -static-libgcc $(LINK) -Wl,-z,pack-relative-relocs
# toml++ is the only C++; its runtime is linked statically because the shared one would cost start-up time.
CXX_RUNTIME := -static-libstdc++ -static-libgcc

$(BUILD)/core/%.o: core/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) $(CORE_FLAGS) -c $< -o $@

$(BUILD)/core/%.o: core/%.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CXX )$(CXX) $(CXX_FLAGS) $(SANITIZE) $(CORE_FLAGS) -c $< -o $@

$(CORE_SCRIPT_OBJECTS): %.o: %.c $(BUILD)/flags
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) -Wno-overlength-strings -Icore/operations/derived -c $< -o $@

$(BUILD)/libsandlot.a: $(CORE_OBJECTS)
	@rm -f $@
	$(call quiet,AR  )$(AR) rcs $@ $^

# It stays mapped when its last handle is closed, as Node.js does at its end: threads that wait for jobs run its code.
$(BUILD)/libsandlot.so.$(VERSION): $(CORE_OBJECTS) core/libsandlot.map
	$(call quiet,LINK)$(CXX) $(LINK_SHARED) $(SANITIZE) -Wl,-soname,$(SONAME) -Wl,-z,nodelete -Wl,--version-script,core/libsandlot.map $(CXX_RUNTIME) \
	    -o $@ $(CORE_OBJECTS) $(CORE_LIBRARIES)

$(BUILD)/$(SONAME): $(BUILD)/libsandlot.so.$(VERSION)
	@ln -sfn $(<F) $@

$(BUILD)/libsandlot.so: $(BUILD)/$(SONAME)
	@ln -sfn $(<F) $@

# What a process of a build with AddressSanitizer needs not look at when it ends.
LEAK_SCAN := $(if $(findstring address,$(SANITIZE)),$(BUILD)/tests/leak_scan.o)

$(BUILD)/tests/leak_scan.o: tests/leak_scan.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) -c $< -o $@

$(BUILD)/sandlot: $(CLI_OBJECTS) $(LEAK_SCAN) $(BUILD)/libsandlot.a
	$(call quiet,LINK)$(COMMAND_LINK) $(SANITIZE) -pie -Wl,--gc-sections -o $@ $^ $(COMMAND_LIBRARIES)

# ---- the worker: runs one provider in a process of its own ----------------------------------------------------------

# Nothing of the library but what both ends of the wire share: it is started for every command that uses such a provider.
WORKER_SOURCES := $(wildcard core/loader/worker/program/*.c)
WORKER_OBJECTS := $(WORKER_SOURCES:%.c=$(BUILD)/%.o) \
                  $(addprefix $(BUILD)/core/loader/,library.o worker/abi.o worker/wire.o worker/channel.o)
WORKER := $(BUILD)/builtins/sandlot-worker

$(WORKER): $(WORKER_OBJECTS) $(LEAK_SCAN)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LINK) $(SANITIZE) -pie -o $@ $^ -Wl,-Bstatic -lffi -Wl,-Bdynamic -ldl -lpthread

# ---- the HTTP transport of the MCP server: a module, so that the command runs without libmicrohttpd -----------------

HTTP_SOURCES := $(wildcard core/server/http/*.c)
# What has no state of its own is in the module a second time; all else it gets from the command.
HTTP_OBJECTS := $(HTTP_SOURCES:%.c=$(BUILD)/%.o) \
                $(addprefix $(BUILD)/core/,server/scan.o server/message.o base/text.o base/base64.o)
HTTP_MODULE := $(BUILD)/modules/sandlot-mcp-http.so

$(HTTP_MODULE): $(HTTP_OBJECTS)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LINK_SHARED) $(SANITIZE) -o $@ $^ -lmicrohttpd -lpthread

# ---- what writes patches and archives: a module, so that neither command nor library needs libgit2 and libarchive --------

WRITER_SOURCES := $(wildcard core/results/writer/*.c)
WRITER_MODULE := $(BUILD)/modules/sandlot-results.so

$(WRITER_MODULE): $(WRITER_SOURCES:%.c=$(BUILD)/%.o)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LINK_SHARED) $(SANITIZE) -o $@ $^ -lgit2 -larchive

# ---- sdk: what providers may link, compiled with include/ and sdk/ only -------------------------------------------------

SDK_SOURCES := $(wildcard sdk/lib/*.c)
# What it sends to sandboxes is shell, as that of core.
SDK_SCRIPT_OBJECTS := $(patsubst %,$(BUILD)/%.o,$(wildcard sdk/lib/*.sh))
SDK_OBJECTS := $(SDK_SOURCES:%.c=$(BUILD)/%.o) $(SDK_SCRIPT_OBJECTS)
SDK_FLAGS := -Isdk/include
SDK_LIBRARIES := -lcurl -ljson-c -larchive -lwslay -lcrypto -lpthread -lm

$(BUILD)/sdk/%.o: sdk/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) $(SDK_FLAGS) -c $< -o $@

$(SDK_SCRIPT_OBJECTS:.o=.c) $(CORE_SCRIPT_OBJECTS:.o=.c): $(BUILD)/%.c: % shell/embed.awk shell/box.sh $(wildcard sdk/lib/*.py sdk/lib/*.pl)
	@mkdir -p $(@D)
	$(call quiet,GEN )$(EMBED) $< > $@

$(SDK_SCRIPT_OBJECTS): %.o: %.c $(BUILD)/flags
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) -Wno-overlength-strings -Isdk/lib -Isdk/include/sandlot/sdk -c $< -o $@

$(BUILD)/libsandlot-sdk.a: $(SDK_OBJECTS)
	@rm -f $@
	$(call quiet,AR  )$(AR) rcs $@ $^

# ---- the conformance kit: what `sandlot plugin check` runs, compiled with include/ only ------------------------------

# A module, so that the command carries nothing of it. Against the shared object, by which the library finds its folder.
KIT_SOURCES := $(wildcard sdk/conformance/*.c)
KIT_OBJECTS := $(KIT_SOURCES:%.c=$(BUILD)/%.o)
KIT := $(BUILD)/modules/sandlot-plugin-check
# A package, whose library lies where the system looks, has none.
KIT_RUNPATH ?= $$ORIGIN/..:$$ORIGIN/../..

$(BUILD)/sdk/conformance/%.o: sdk/conformance/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) -c $< -o $@

$(KIT): $(KIT_OBJECTS) $(BUILD)/libsandlot.so
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LINK) $(SANITIZE) -pie -o $@ $(KIT_OBJECTS) -L$(BUILD) -lsandlot \
	    $(if $(KIT_RUNPATH),-Wl$(,)-rpath$(,)'$(KIT_RUNPATH)') -lelf -linih -lffi -lmd -ldl -lpthread -lm

# What `sandlot plugin new` begins with, and the flags for such a project, as `make install` has them but for this tree.
# Rust's binding is that of the example.
SCAFFOLD := $(patsubst sdk/scaffold/%,$(BUILD)/scaffold/%,$(wildcard sdk/scaffold/*/*)) $(BUILD)/scaffold/rust/sandlot.rs
# What those projects, and these in plugins/, have in common.
PROJECT_PARTS := $(BUILD)/plugin.mk $(BUILD)/plugin-test.sh
PKG_CONFIG_FILES := $(BUILD)/pkgconfig/sandlot.pc $(BUILD)/pkgconfig/sandlot-provider.pc

$(BUILD)/scaffold/%: sdk/scaffold/%
	@mkdir -p $(@D)
	@cp $< $@

$(BUILD)/scaffold/rust/sandlot.rs: sdk/examples/rust/sandlot.rs
	@mkdir -p $(@D)
	@cp $< $@

$(PROJECT_PARTS): $(BUILD)/%: sdk/%
	@cp $< $@

# Relative to where the file lies, so that a copy of the tree with its build folder works too.
$(BUILD)/pkgconfig/%.pc: config/%.pc.in Makefile
	@mkdir -p $(@D)
	@here='$${pcfiledir}' tree=$$(realpath --relative-to=$(@D) .) && sed -e "s|^prefix=.*|prefix=$$here/..|" \
	    -e 's|^libdir=.*|libdir=$${prefix}|' -e "s|^includedir=.*|includedir=$$here/$$tree/include|" \
	    -e 's|/lib/sandlot/providers|/plugins|' -e 's|/sandlot/builtins|/builtins|' -e 's|/share/sandlot||' \
	    -e "s|^Cflags: .*|& -I$$here/$$tree/sdk/include|" -e 's|@VERSION@|$(VERSION)|' -e 's|@ABI@|$(ABI)|' $< > $@

# ---- plugins: compiled with include/ and sdk/ only -------------------------------------------------------------

# The client checks a network list with the code that will obey it.
LOCAL_CLIENT := $(wildcard plugins/local/*.c) $(addprefix plugins/local/egress/,address.c host.c policy.c) plugins/local/keeper/walk.c plugins/local/box/places.c
LOCAL_KEEPER := $(addprefix plugins/local/,authorities.c layers.c protocol.c settings.c) $(addprefix plugins/local/egress/,address.c host.c policy.c) $(wildcard plugins/local/keeper/*.c plugins/local/box/*.c)
LOCAL_EGRESS := plugins/local/protocol.c $(wildcard plugins/local/egress/*.c)
# The same with credentials, which alone has the libraries for TLS.
LOCAL_INTERCEPT := plugins/local/authorities.c $(filter-out %/main.c,$(LOCAL_EGRESS)) $(wildcard plugins/local/intercept/*.c)
INTERCEPT_LIBRARIES := -lseccomp -lssl -lcrypto
# A folder with a makefile is a project of its own, as a vendor has it; see below. Every other one is built in, one for each cloud.
PROJECTS := $(patsubst plugins/%/Makefile,%,$(wildcard plugins/*/Makefile))
VENDORS := $(filter-out local $(PROJECTS),$(sort $(patsubst plugins/%/,%,$(dir $(wildcard plugins/*/*.c)))))
VENDOR_PROVIDERS := $(VENDORS:%=$(BUILD)/builtins/%.so)
NETWORK_SETS := $(BUILD)/builtins/network-sets.toml
BUILTINS := $(BUILD)/builtins/local.so $(BUILD)/builtins/sandlot-local-keeper $(BUILD)/builtins/sandlot-egress \
            $(BUILD)/builtins/sandlot-egress-credentials $(WORKER) \
            $(VENDOR_PROVIDERS) $(NETWORK_SETS)

$(NETWORK_SETS): config/network-sets.toml
	@mkdir -p $(@D)
	@cp $< $@

$(BUILD)/plugins/%.o: plugins/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) $(PLUGIN_FLAGS) -c $< -o $@

$(BUILD)/builtins/local.so: $(LOCAL_CLIENT:%.c=$(BUILD)/%.o) $(BUILD)/libsandlot-sdk.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LINK_SHARED) $(SANITIZE) -Wl,--exclude-libs,ALL -o $@ $^ -Wl,-Bstatic -ljson-c -Wl,-Bdynamic -lpthread

# The helper library is inside, and hidden: a provider shows one symbol, and two of them can be loaded into one program.
vendor_objects = $(patsubst %.c,$(BUILD)/%.o,$(wildcard plugins/$1/*.c)) $(patsubst %.proto,$(BUILD)/%.pb-c.o,$(wildcard plugins/$1/*.proto))
.SECONDEXPANSION:
$(VENDOR_PROVIDERS): $(BUILD)/builtins/%.so: $$(call vendor_objects,$$*) $(BUILD)/libsandlot-sdk.a
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(LINK_SHARED) $(SANITIZE) -Wl,--exclude-libs,ALL -o $@ $^ $(SDK_LIBRARIES) -lprotobuf-c -lyaml

# ---- plugins that are projects of their own ---------------------------------------------------------------------

# By their own makefiles, in a copy, with this tree's SDK as if it were installed, and with nothing else of the tree. Whole each
# time, because a project knows of changes in its own folder only. They go where plugins are looked for, and run in a worker.
PROJECT_PROVIDERS := $(PROJECTS:%=$(BUILD)/plugins/%.so)
# clang leaves the sanitizer's symbols of a shared object to the program that loads it.
PROJECT_LINK := $(LDFLAGS) $(SANITIZE) $(if $(and $(SANITIZE),$(findstring clang,$(CC))),-Wl$(,)-z$(,)undefs)
project_files = $(filter-out %.o %.so %/deb,$(wildcard plugins/$1/*))

$(PROJECT_PROVIDERS): $(BUILD)/plugins/%.so: $$(call project_files,$$*) $(wildcard include/sandlot/*.h sdk/include/sandlot/sdk/*.h) \
                      $(BUILD)/libsandlot-sdk.a $(BUILD)/pkgconfig/sandlot-provider.pc $(PROJECT_PARTS) $(BUILD)/flags
	@rm -rf $(@D)/$* && mkdir -p $(@D)/$* && cp -R $(call project_files,$*) $(@D)/$*/
	$(call quiet,MAKE)PKG_CONFIG_PATH='$(abspath $(BUILD))/pkgconfig' $(MAKE) $(if $(V),,-s) --no-print-directory -C $(@D)/$* CC='$(CC)' \
	    CFLAGS='$(WARNINGS) $(FORTIFY) $(CFLAGS) $(SANITIZE) -ffile-prefix-map=$(abspath $(@D)/$*)=plugins/$*' LDFLAGS='$(PROJECT_LINK)'
	@mv $(@D)/$*/$*.so $@

# Messages of a vendor that speaks gRPC: plugins/NAME/NAME.proto becomes NAME.pb-c.h and .c in the build folder, which that
# vendor's sources include.
PROTOS := $(wildcard plugins/*/*.proto)

$(BUILD)/plugins/%.pb-c.c: plugins/%.proto | packages
	@mkdir -p $(@D)
	$(call quiet,GEN )protoc-c --proto_path=$(<D) --c_out=$(@D) $<

.SECONDARY: $(PROTOS:%.proto=$(BUILD)/%.pb-c.c)

$(BUILD)/plugins/%.pb-c.o: $(BUILD)/plugins/%.pb-c.c $(BUILD)/flags
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) -c $< -o $@

$(foreach proto,$(PROTOS),$(eval $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(dir $(proto))*.c)): $(BUILD)/$(proto:.proto=.pb-c.c)))

# The keeper has objects of its own where its sanitizers are others than the provider's.
KEEPER_BUILD := $(BUILD)$(if $(subst $(SANITIZE),,$(SANITIZE_KEEPER))$(subst $(SANITIZE_KEEPER),,$(SANITIZE)),/keeper)

ifneq ($(KEEPER_BUILD),$(BUILD))
$(KEEPER_BUILD)/plugins/%.o: plugins/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE_KEEPER) $(PLUGIN_FLAGS) -c $< -o $@
endif

# Every box begins as a copy of the keeper, and every command as one of its init: without shared objects there is
# less to copy. The sanitizers' runtimes want them.
KEEPER_LINK := $(if $(SANITIZE_KEEPER),-pie,-static-pie)

$(BUILD)/builtins/sandlot-local-keeper: $(LOCAL_KEEPER:%.c=$(KEEPER_BUILD)/%.o)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(KEEPER_LINK) $(LINK) $(SANITIZE_KEEPER) -o $@ $^ -lseccomp -lpthread

# Not static: names are resolved with whatever modules the machine has for that.
$(BUILD)/builtins/sandlot-egress: $(LOCAL_EGRESS:%.c=$(KEEPER_BUILD)/%.o)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) -pie $(LINK) $(SANITIZE_KEEPER) -o $@ $^ -lseccomp

$(BUILD)/builtins/sandlot-egress-credentials: $(LOCAL_INTERCEPT:%.c=$(KEEPER_BUILD)/%.o)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) -pie $(LINK) $(SANITIZE_KEEPER) -o $@ $^ $(INTERCEPT_LIBRARIES)

# The same two with stand-ins for names and public addresses (egress/stand_in.h), which no other build has.
# Only what includes that header differs.
WITH_STAND_INS := $(shell grep -l '^.include "\(egress/\)\?stand_in.h"' $(sort $(LOCAL_EGRESS) $(LOCAL_INTERCEPT)))
with_stand_ins = $(patsubst %.c,$(BUILD)/tests/stand_ins/%.o,$(filter $(WITH_STAND_INS),$1)) \
                 $(patsubst %.c,$(KEEPER_BUILD)/%.o,$(filter-out $(WITH_STAND_INS),$1))
EGRESS_STAND_INS := $(call with_stand_ins,$(LOCAL_EGRESS))
INTERCEPT_STAND_INS := $(call with_stand_ins,$(LOCAL_INTERCEPT))

$(WITH_STAND_INS:%.c=$(BUILD)/tests/stand_ins/%.o): $(BUILD)/tests/stand_ins/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE_KEEPER) $(LOCAL_FLAGS) -DSANDLOT_EGRESS_STAND_INS -c $< -o $@

$(BUILD)/tests/local/sandlot-egress: $(EGRESS_STAND_INS)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) -pie $(LINK) $(SANITIZE_KEEPER) -o $@ $^ -lseccomp

$(BUILD)/tests/local/sandlot-egress-credentials: $(INTERCEPT_STAND_INS)
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) -pie $(LINK) $(SANITIZE_KEEPER) -o $@ $^ $(INTERCEPT_LIBRARIES)

# ---- tests ------------------------------------------------------------------------------------------------------

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*_test.c))
LOCAL_UNIT_TESTS := $(filter $(BUILD)/tests/local_%,$(UNIT_TESTS))
MCP_UNIT_TESTS := $(filter $(BUILD)/tests/mcp_%,$(UNIT_TESTS))
SDK_UNIT_TESTS := $(filter $(BUILD)/tests/sdk_%,$(UNIT_TESTS))
KUBERNETES_UNIT_TESTS := $(filter $(BUILD)/tests/kubernetes_%,$(UNIT_TESTS))
SDK_TEST_HELPERS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%.o,$(filter-out %_test.c,$(wildcard tests/unit/sdk_*.c)))
LOCAL_TESTS := $(patsubst tests/local/%.c,$(BUILD)/tests/local/%,$(wildcard tests/local/*_test.c))
TEST_TOOLS := $(patsubst tests/local/%.c,$(BUILD)/tests/local/%,$(filter-out %_test.c,$(wildcard tests/local/*.c)))
ATTACK_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/local/attacks/*.c))
TEST_PLUGINS := $(patsubst tests/plugins/%.c,$(BUILD)/tests/plugins/%.so,$(wildcard tests/plugins/*.c)) \
                $(BUILD)/tests/plugins/acme.so
LOCAL_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/main.c,$(wildcard plugins/local/*.c plugins/local/*/*.c)))
# Some hundred and forty links of most of the core, which nobody ships: a linker that takes a fraction of the time, where there is one.
FAST_LINKER = $(shell ! command -v mold >/dev/null || echo -fuse-ld=mold)
TEST_LINK = $(LINK) $(FAST_LINKER)
TEST_LIBRARIES := -lcmocka $(CORE_LIBRARIES) -lseccomp -lssl -lcrypto
TEST_PROGRAMS := $(addprefix $(BUILD)/tests/local/,sandlot-egress sandlot-egress-credentials) $(UNIT_TESTS) $(LOCAL_TESTS) $(TEST_TOOLS) $(TEST_PLUGINS) $(if $(ATTACK_OBJECTS),$(BUILD)/tests/local/attack) $(BUILD)/tests/abi/call_functions

$(BUILD)/tests/liblocal.a: $(LOCAL_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(call quiet,AR  )$(AR) rcs $@ $^

$(BUILD)/tests/libserver.a: $(SERVER_OBJECTS) $(BUILD)/core/server/http/checks.o
	@mkdir -p $(@D)
	@rm -f $@
	$(call quiet,AR  )$(AR) rcs $@ $^

# Unit tests reach into the rooms; those of plugins/local and of core/server get their objects too.
$(MCP_UNIT_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/tests/libserver.a $(BUILD)/libsandlot.a
	$(call quiet,LINK)$(CXX) $(CXX_RUNTIME) $(TEST_LINK) $(SANITIZE) -o $@ $^ $(TEST_LIBRARIES)

# As a provider: with the helper library alone.
$(SDK_UNIT_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(SDK_TEST_HELPERS) $(BUILD)/libsandlot-sdk.a
	$(call quiet,LINK)$(CC) $(TEST_LINK) $(SANITIZE) -o $@ $^ -lcmocka $(SDK_LIBRARIES) -lssl -lnghttp2

$(KUBERNETES_UNIT_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(call vendor_objects,kubernetes) $(BUILD)/libsandlot-sdk.a
	$(call quiet,LINK)$(CC) $(TEST_LINK) $(SANITIZE) -o $@ $^ -lcmocka $(SDK_LIBRARIES) -lyaml

$(filter-out $(LOCAL_UNIT_TESTS) $(MCP_UNIT_TESTS) $(SDK_UNIT_TESTS) $(KUBERNETES_UNIT_TESTS),$(UNIT_TESTS)): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/libsandlot.a
	$(call quiet,LINK)$(CXX) $(CXX_RUNTIME) $(TEST_LINK) $(SANITIZE) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(TEST_LIBRARIES)

$(LOCAL_UNIT_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/unit/%.o $(BUILD)/tests/liblocal.a $(BUILD)/libsandlot.a
	$(call quiet,LINK)$(CXX) $(CXX_RUNTIME) $(TEST_LINK) $(SANITIZE) -o $@ $^ $(TEST_LIBRARIES)

$(filter-out %/jobs_test,$(LOCAL_TESTS)): $(BUILD)/tests/local/%: $(BUILD)/tests/local/%.o $(BUILD)/tests/liblocal.a $(BUILD)/libsandlot.a
	$(call quiet,LINK)$(CXX) $(CXX_RUNTIME) $(TEST_LINK) $(SANITIZE) -o $@ $^ $(TEST_LIBRARIES)

# As a program that embeds the library, which finds its providers beside itself.
$(BUILD)/tests/local/jobs_test: $(BUILD)/tests/local/jobs_test.o $(BUILD)/libsandlot.so
	$(call quiet,LINK)$(CC) $(TEST_LINK) $(SANITIZE) -o $@ $< -L$(BUILD) -lsandlot -Wl,-rpath,'$$ORIGIN/../..' -lcmocka

$(BUILD)/tests/owner_test: $(BUILD)/core/cli/owner.o
$(BUILD)/tests/transfer_text_test: $(BUILD)/core/cli/transfer_text.o
$(BUILD)/tests/langsmith_yamux_test: $(BUILD)/plugins/langsmith/yamux.o

# Loads a provider as the host does, for tests/abi.
$(BUILD)/tests/abi/call_functions: $(BUILD)/tests/abi/call_functions.o $(BUILD)/libsandlot.a
	$(call quiet,LINK)$(CXX) $(CXX_RUNTIME) $(TEST_LINK) $(SANITIZE) -o $@ $^ $(CORE_LIBRARIES)

$(BUILD)/tests/abi/%.o: tests/abi/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) $(CORE_FLAGS) -c $< -o $@

# Helpers of the black-box tests may run inside boxes, where a sanitizer cannot.
$(TEST_TOOLS): $(BUILD)/tests/local/%: tests/local/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(LINK) -o $@ $< -lpthread

# The attacks are one program, static, so that it needs nothing of the box that it is carried into.
$(BUILD)/tests/local/attacks/%.o: tests/local/attacks/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) -c $< -o $@

$(BUILD)/tests/local/attack: $(ATTACK_OBJECTS)
	$(call quiet,LINK)$(CC) -static $(LINK) -o $@ $^

$(BUILD)/tests/unit/%.o: tests/unit/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(TEST_FLAGS) $(SANITIZE) $(CORE_FLAGS) $(LOCAL_FLAGS) -Itests/unit -c $< -o $@

$(BUILD)/tests/local/%.o: tests/local/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) $(LOCAL_FLAGS) -c $< -o $@

# The example of a provider over HTTP, against tests/vendors/acme.
$(BUILD)/tests/plugins/acme.so: sdk/examples/http/acme.c $(BUILD)/libsandlot-sdk.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(C_FLAGS) $(SANITIZE) $(SDK_FLAGS) $(LINK_SHARED) -Wl,--exclude-libs,ALL -o $@ $< \
	    $(BUILD)/libsandlot-sdk.a $(SDK_LIBRARIES)

$(BUILD)/tests/plugins/%.so: tests/plugins/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK)$(CC) $(C_FLAGS) $(SANITIZE) $(LINK_SHARED) -o $@ $<

# ---- MCP clients, for tests/mcp ----------------------------------------------------------------------------------

# Real clients and the Node.js that they run on, from the registry of npm, fixed by tests/mcp/package-lock.json. Without
# npm or network the tests that need them skip; CI must have them.
CLIENTS := $(BUILD)/node/installed

$(CLIENTS): tests/mcp/package.json tests/mcp/package-lock.json tests/mcp/.npmrc | packages
	@mkdir -p $(@D)
	@cp $^ $(@D)/
	$(call quiet,NPM )tests/mcp/install.sh $(@D) 'MCP clients'

# ---- the vendors' own SDKs, for tests/vendors ---------------------------------------------------------------------

# Likewise; they run on the Node.js of the MCP clients.
VENDOR_CLIENTS := $(BUILD)/vendors/installed

$(VENDOR_CLIENTS): tests/vendors/package.json tests/vendors/package-lock.json tests/vendors/.npmrc | packages
	@mkdir -p $(@D)
	@cp $^ $(@D)/
	$(call quiet,NPM )tests/mcp/install.sh $(@D) 'SDKs of vendors'

# The agent of the emulators' boxes: static, so that it needs nothing of the box that it is carried into, and without a sanitizer.
BOX_AGENT := $(BUILD)/tests/vendors/box-agent
BOX_AGENT_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/vendors/common/agent/*.c))

$(BOX_AGENT_OBJECTS): $(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) -c $< -o $@

$(BOX_AGENT): $(BOX_AGENT_OBJECTS)
	$(call quiet,LINK)$(CC) -static $(LINK) -o $@ $^ -ljson-c

# ---- what sdk/javascript meets, for tests/javascript --------------------------------------------------------------

# Likewise: koffi, deepagents, and the compiler that checks the types.
JAVASCRIPT_PACKAGES := $(BUILD)/javascript/installed

$(JAVASCRIPT_PACKAGES): tests/javascript/package.json tests/javascript/package-lock.json tests/javascript/.npmrc | packages
	@mkdir -p $(@D)
	@cp $^ $(@D)/
	$(call quiet,NPM )tests/mcp/install.sh $(@D) 'packages for sdk/javascript'

# ---- fuzzing ----------------------------------------------------------------------------------------------------

FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*_fuzz.c))
FUZZ_FLAGS := -g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_COMMON := -D_GNU_SOURCE -MMD -MP -Iinclude -Icore -Isdk/include
SDK_FUZZERS := $(filter $(BUILD)/fuzz/sdk_%,$(FUZZERS))

$(BUILD)/fuzz/core/%.o: core/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )clang -std=c11 $(FUZZ_COMMON) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(BUILD)/fuzz/core/%.o: core/%.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CXX )clang++ -std=c++17 $(FUZZ_COMMON) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(BUILD)/fuzz/sdk/%.o: sdk/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )clang -std=c11 $(FUZZ_COMMON) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(patsubst $(BUILD)/%,$(BUILD)/fuzz/%,$(SDK_SCRIPT_OBJECTS) $(CORE_SCRIPT_OBJECTS)): $(BUILD)/fuzz/%.o: $(BUILD)/%.c
	@mkdir -p $(@D)
	$(call quiet,CC  )clang -std=c11 $(FUZZ_COMMON) -Isdk/lib -Isdk/include/sandlot/sdk -Icore/operations/derived $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(SDK_FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/targets/%.o $(SDK_OBJECTS:$(BUILD)/%=$(BUILD)/fuzz/%)
	$(call quiet,LINK)clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(FAST_LINKER) -o $@ $^ $(SDK_LIBRARIES)

# That of a vendor, with what it reads of the vendor's folder: tests/fuzz/NAME_fuzz.c for plugins/NAME.
MODAL_READERS := $(addprefix $(BUILD)/fuzz/plugins/modal/,modal.pb-c.o profile.o)
MODAL_FLAGS := -Isdk/include -Iplugins/modal -I$(BUILD)/plugins/modal

$(BUILD)/fuzz/plugins/modal/modal.pb-c.o: $(BUILD)/plugins/modal/modal.pb-c.c
$(BUILD)/fuzz/plugins/modal/profile.o: plugins/modal/profile.c
$(BUILD)/fuzz/targets/modal_fuzz.o: $(BUILD)/plugins/modal/modal.pb-c.c
$(BUILD)/fuzz/targets/modal_fuzz.o: FUZZ_COMMON += $(MODAL_FLAGS)

$(MODAL_READERS): $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )clang -std=c11 $(FUZZ_COMMON) $(MODAL_FLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $(filter %.c,$^) -o $@

$(BUILD)/fuzz/modal_fuzz: $(BUILD)/fuzz/targets/modal_fuzz.o $(MODAL_READERS)
	$(call quiet,LINK)clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(FAST_LINKER) -o $@ $^ -lprotobuf-c

KUBERNETES_READERS := $(addprefix $(BUILD)/fuzz/plugins/kubernetes/,yaml_document.o status.o)
KUBERNETES_FLAGS := -Isdk/include -Iplugins/kubernetes

$(BUILD)/fuzz/targets/kubernetes_fuzz.o: FUZZ_COMMON += $(KUBERNETES_FLAGS)

$(KUBERNETES_READERS): $(BUILD)/fuzz/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )clang -std=c11 $(FUZZ_COMMON) $(KUBERNETES_FLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(BUILD)/fuzz/kubernetes_fuzz: $(BUILD)/fuzz/targets/kubernetes_fuzz.o $(KUBERNETES_READERS) $(SDK_OBJECTS:$(BUILD)/%=$(BUILD)/fuzz/%)
	$(call quiet,LINK)clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(FAST_LINKER) -o $@ $^ $(SDK_LIBRARIES) -lyaml

# What the way out of a local box reads of it and of the world.
EGRESS_READERS := $(addprefix $(BUILD)/fuzz/plugins/local/egress/,address.o aliases.o body.o head.o hello.o host.o names.o policy.o)
INTERCEPT_READERS := $(addprefix $(BUILD)/fuzz/plugins/local/intercept/,credentials.o mask.o)

$(addprefix $(BUILD)/fuzz/targets/,egress_fuzz.o intercept_fuzz.o names_fuzz.o): FUZZ_COMMON += -Iplugins/local

$(EGRESS_READERS) $(INTERCEPT_READERS): $(BUILD)/fuzz/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )clang -std=c11 $(FUZZ_COMMON) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(addprefix $(BUILD)/fuzz/,egress_fuzz names_fuzz): $(BUILD)/fuzz/%: $(BUILD)/fuzz/targets/%.o $(EGRESS_READERS)
	$(call quiet,LINK)clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(FAST_LINKER) -o $@ $^

$(BUILD)/fuzz/intercept_fuzz: $(BUILD)/fuzz/targets/intercept_fuzz.o $(EGRESS_READERS) $(INTERCEPT_READERS)
	$(call quiet,LINK)clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(FAST_LINKER) -o $@ $^ -lcrypto

# Of core only what these reach: clang takes longest here. Should one reach more, the linker names it.
FUZZ_CORE := $(filter $(addprefix $(BUILD)/core/,base/% config/% loader/% registry/% operations/% session/% network/entry.o network/names.o \
    results/digest.o results/manifest.o results/node.o results/risk.o server/lines.o server/message.o server/scan.o),$(CORE_OBJECTS) $(SERVER_OBJECTS))

$(BUILD)/fuzz/libcore.a: $(FUZZ_CORE:$(BUILD)/%=$(BUILD)/fuzz/%)
	@rm -f $@
	$(call quiet,AR  )$(AR) rcs $@ $^

$(filter-out $(SDK_FUZZERS) $(addprefix $(BUILD)/fuzz/,modal_fuzz kubernetes_fuzz egress_fuzz names_fuzz intercept_fuzz),$(FUZZERS)): $(BUILD)/fuzz/%: $(BUILD)/fuzz/targets/%.o $(BUILD)/fuzz/libcore.a
	$(call quiet,LINK)clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(FAST_LINKER) -o $@ $^ $(CORE_LIBRARIES)

$(BUILD)/fuzz/targets/%.o: tests/fuzz/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )clang -std=c11 $(FUZZ_COMMON) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

# ---- bench ------------------------------------------------------------------------------------------------------

BENCH := $(BUILD)/bench/bench $(addprefix $(BUILD)/tests/plugins/,constructor_writes.so only_execute.so bulk.so) \
	$(addprefix $(BUILD)/tests/local/,sandlot-egress sandlot-egress-credentials)
BENCH_OBJECTS := $(patsubst tests/bench/%.c,$(BUILD)/bench/%.o,$(wildcard tests/bench/*.c))

$(BUILD)/bench/%.o: tests/bench/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC  )$(CC) $(C_FLAGS) $(SANITIZE) -c $< -o $@

# As any program that embeds the library: through the public header and the shared object.
$(BUILD)/bench/bench: $(BENCH_OBJECTS) $(BUILD)/libsandlot.so
	$(call quiet,LINK)$(CC) $(LINK) $(SANITIZE) -o $@ $(BENCH_OBJECTS) -L$(BUILD) -lsandlot -Wl,-rpath,'$$ORIGIN/..' -lpthread

# ---- what people call -------------------------------------------------------------------------------------------

.PHONY: help run unit programs quick-programs clients fuzzers sanitize check check-all check-vendors fault-run bench fuzz lint format install uninstall deb clean

all: $(BUILD)/sandlot $(BUILD)/libsandlot.so $(BUILD)/libsandlot-sdk.a $(BUILTINS) $(PROJECT_PROVIDERS) $(HTTP_MODULE) $(WRITER_MODULE) $(SCAFFOLD) $(PROJECT_PARTS) $(PKG_CONFIG_FILES) $(KIT)
programs: $(TEST_PROGRAMS)
# Of the unit tests make check runs in this build only those that no sanitizer lets through; see tests/check.sh.
quick-programs: $(filter-out $(UNIT_TESTS),$(TEST_PROGRAMS)) $(filter %allocation_test,$(UNIT_TESTS)) \
                $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(shell grep -l failing_allocator.h tests/unit/*_test.c))
clients: $(CLIENTS) $(VENDOR_CLIENTS) $(JAVASCRIPT_PACKAGES) $(BOX_AGENT)
fuzzers: $(FUZZERS)

help:
	@echo 'make             build everything below $(BUILD)/; $(BUILD)/sandlot runs in place'
	@echo 'make deps        install the Debian packages that are missing (config/packages)'
	@echo 'make run         the demo: a program is written, compiled and run in a sandbox'
	@echo 'make check       the tests, as root (if you are) and as an ordinary user, with sanitizers, and lint of what changed'
	@echo 'make check-all   all of them, fuzzing, valgrind, kill -9, the other Debian and the benchmark: what CI runs'
	@echo 'make check-vendors  the cloud providers against their emulators, whole'
	@echo 'make fault-run   SECONDS=600 of random work while commands, keepers and workers are killed and the disk is full'
	@echo 'make unit        only the unit tests'
	@echo 'make lint        clang-format, clang-tidy, cppcheck, shellcheck, exported symbols, includes, manual'
	@echo 'make format      lay the code out by .clang-format (the public headers are laid out by hand)'
	@echo 'make fuzz        each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make bench       the figures, each as a ratio within one run'
	@echo 'make install     to PREFIX=$(PREFIX) below DESTDIR=$(DESTDIR)'
	@echo 'make uninstall   takes that away again'
	@echo 'make deb         Debian packages in $(BUILD)/deb/'
	@echo 'make clean       remove $(BUILD)/'
	@echo
	@echo 'Others: CC=clang, CFLAGS=..., LDFLAGS=..., BUILD=folder, V=1'

run: all
	@tests/demo/run.sh $(BUILD)/sandlot

unit: all $(UNIT_TESTS) $(TEST_PLUGINS)
	@tests/run.sh -b $(BUILD) $(UNIT_TESTS)

# Undefined behaviour ends in a trap, whose line AddressSanitizer tells: the runtime that would name the kind doubles what a command takes
# to start and to end. AddressSanitizer needs terabytes of address space for its shadow, which a box's init does not have under the
# limits of its box, and its start-up code makes system calls that the box's filter ends. So the keeper and the boxes that
# it forks get the traps alone; their code meets AddressSanitizer in the unit tests. A report needs lines and no types (-g1), without which compiling and linking takes a fifth less, and
# what is written in C++ is compiled in about half the time without optimization, which nothing that runs feels.
sanitize: | packages
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/sanitize CFLAGS='-O1 -g1 -fno-omit-frame-pointer' \
	    CXXFLAGS='-O0 -g1 -fno-omit-frame-pointer' \
	    SANITIZE='-fsanitize=address,undefined -fsanitize-undefined-trap-on-error' \
	    SANITIZE_KEEPER='-fsanitize=undefined -fsanitize-undefined-trap-on-error' all programs

check: all quick-programs clients sanitize
	@tests/check.sh $(BUILD)

check-all: all programs clients sanitize fuzzers $(BENCH)
	@tests/check.sh --all $(BUILD)

# SECONDS (600) of random work under random faults; SEED repeats the choices of a run.
fault-run: all clients
	@FAULT_SECONDS=$(or $(SECONDS),600) FAULT_SEED=$(SEED) tests/run.sh -b $(BUILD) -t $$(($(or $(SECONDS),600) * 2 + 600)) tests/vendors/common/fault_run_test.sh
	@grep '^#' $(BUILD)/test-logs/vendors_common_fault_run_test.log

check-vendors: all clients $(BUILD)/tests/plugins/acme.so $(BUILD)/tests/local/in_terminal
	@SANDLOT_TEST_SLOW=1 tests/run.sh -b $(BUILD) -j $(JOBS) -t 900 $(sort $(wildcard tests/vendors/*/*_test.sh))

lint: all
	@tests/run.sh -b $(BUILD) -t 900 $(wildcard tests/lint/*.sh)

format:
	clang-format -i $(wildcard $(addsuffix /*.[ch],core core/* core/*/* core/*/*/* plugins/* plugins/*/* sdk sdk/* sdk/*/* sdk/*/*/* tests/* tests/*/*))

fuzz: fuzzers
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run.sh -b $(BUILD) -t $$(($(FUZZ_SECONDS) * $(words $(FUZZERS)) + 60)) tests/fuzz/run.sh

bench: all clients $(BENCH)
	@tests/bench/bench.sh $(BUILD)

clean:
	rm -rf $(BUILD)

# ---- install ----------------------------------------------------------------------------------------------------

MAN_PAGES := $(wildcard config/man/*.[1-8])
COMPLETIONS := $(wildcard config/completions/*)
EXAMPLES := $(patsubst sdk/%,%,$(wildcard $(addprefix sdk/examples/,*.md */*.md */Makefile */*.c */*.cc */*.map */*.rs)))
# What pages show as it is.
SHOWN := $(wildcard docs/*.cast docs/pictures/*.svg)
TO = $(DESTDIR)$(PREFIX)

# Where bash, zsh and fish look.
completion_folder = $(if $(filter %.fish,$1),fish/vendor_completions.d,$(if $(filter _%,$(notdir $1)),zsh/site-functions,bash-completion/completions))

install: all
	$(INSTALL) -d $(TO)/bin $(TO)/lib/pkgconfig $(TO)/lib/sandlot/builtins $(TO)/lib/sandlot/providers $(TO)/lib/sandlot/modules \
	    $(TO)/include/sandlot/sdk $(TO)/share/doc/sandlot
	$(INSTALL) -m 755 $(BUILD)/sandlot $(TO)/bin/sandlot
	$(INSTALL) -m 755 $(BUILD)/libsandlot.so.$(VERSION) $(TO)/lib/
	ln -sfn libsandlot.so.$(VERSION) $(TO)/lib/$(SONAME)
	ln -sfn $(SONAME) $(TO)/lib/libsandlot.so
	$(INSTALL) -m 644 $(BUILD)/builtins/local.so $(VENDOR_PROVIDERS) $(NETWORK_SETS) $(TO)/lib/sandlot/builtins/
	$(INSTALL) -m 755 $(BUILD)/builtins/sandlot-local-keeper $(addprefix $(BUILD)/builtins/,sandlot-egress sandlot-egress-credentials) \
	    $(WORKER) $(TO)/lib/sandlot/builtins/
	$(foreach file,$(PROJECT_PROVIDERS),$(INSTALL) -m 644 $(file) $(TO)/lib/sandlot/providers/ &&) :
	$(INSTALL) -m 644 $(HTTP_MODULE) $(WRITER_MODULE) $(TO)/lib/sandlot/modules/
	$(INSTALL) -m 755 $(KIT) $(TO)/lib/sandlot/modules/
	$(INSTALL) -m 644 include/sandlot/*.h $(TO)/include/sandlot/
	$(INSTALL) -m 644 sdk/include/sandlot/sdk/*.h $(TO)/include/sandlot/sdk/
	$(INSTALL) -m 644 $(BUILD)/libsandlot-sdk.a $(TO)/lib/
	for file in sandlot sandlot-provider; do \
	    sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@ABI@|$(ABI)|' config/$$file.pc.in > $(TO)/lib/pkgconfig/$$file.pc && \
	    chmod 644 $(TO)/lib/pkgconfig/$$file.pc || exit 1; done
	for folder in $(notdir $(wildcard sdk/scaffold/*)); do \
	    $(INSTALL) -d $(TO)/share/sandlot/scaffold/$$folder && \
	    $(INSTALL) -m 644 $(BUILD)/scaffold/$$folder/* $(TO)/share/sandlot/scaffold/$$folder/ || exit 1; done
	$(INSTALL) -m 644 $(PROJECT_PARTS) $(TO)/share/sandlot/
	for page in $(MAN_PAGES); do \
	    $(INSTALL) -D -m 644 $$page $(TO)/share/man/man$${page##*.}/$${page##*/} || exit 1; done
	$(foreach file,$(COMPLETIONS),$(INSTALL) -D -m 644 $(file) $(TO)/share/$(call completion_folder,$(file))/$(notdir $(file)) &&) :
	sed 's|@PREFIX@|$(PREFIX)|' config/apparmor/sandlot-local-keeper > $(TO)/share/doc/sandlot/apparmor-profile
	chmod 644 $(TO)/share/doc/sandlot/apparmor-profile
	$(INSTALL) -m 644 $(wildcard config/config.example.toml) $(TO)/share/doc/sandlot/
	config/install-page.sh README.md $(TO)/share/doc/sandlot/README.md ../../..
	config/install-page.sh sdk/README.md $(TO)/share/doc/sandlot/providers.md ../../..
	$(INSTALL) -d $(TO)/share/doc/sandlot/docs/handbook
	for page in $(wildcard docs/*.md); do config/install-page.sh $$page $(TO)/share/doc/sandlot/$$page ../../../.. || exit 1; done
	for page in $(wildcard docs/handbook/*.md); do config/install-page.sh $$page $(TO)/share/doc/sandlot/$$page ../../../../.. || exit 1; done
	for file in $(SHOWN); do $(INSTALL) -D -m 644 $$file $(TO)/share/doc/sandlot/$$file || exit 1; done
	for file in $(EXAMPLES); do $(INSTALL) -D -m 644 sdk/$$file $(TO)/share/doc/sandlot/$$file || exit 1; done

# By name, for below a PREFIX such as ~/.local the same folders hold what the user has put there.
UNINSTALL := bin/sandlot lib/libsandlot-sdk.a lib/libsandlot.so lib/$(SONAME) lib/libsandlot.so.$(VERSION) \
             lib/pkgconfig/sandlot.pc lib/pkgconfig/sandlot-provider.pc \
             $(addprefix lib/sandlot/builtins/,$(notdir $(BUILTINS))) $(addprefix lib/sandlot/providers/,$(notdir $(PROJECT_PROVIDERS))) \
             $(addprefix lib/sandlot/modules/,$(notdir $(HTTP_MODULE) $(WRITER_MODULE) $(KIT))) \
             $(wildcard include/sandlot/*.h) $(patsubst sdk/%,%,$(wildcard sdk/include/sandlot/sdk/*.h)) \
             $(patsubst $(BUILD)/%,share/sandlot/%,$(SCAFFOLD) $(PROJECT_PARTS)) \
             $(foreach page,$(MAN_PAGES),share/man/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
             $(foreach file,$(COMPLETIONS),share/$(call completion_folder,$(file))/$(notdir $(file))) \
             $(addprefix share/doc/sandlot/,apparmor-profile config.example.toml README.md providers.md $(wildcard docs/*.md docs/handbook/*.md) $(SHOWN) $(EXAMPLES))
# Those that are Sandlot's own, and go if nothing else is in them.
UNINSTALL_FOLDERS := lib/sandlot include/sandlot share/sandlot share/doc/sandlot

uninstall:
	cd $(TO) && rm -f $(UNINSTALL)
	cd $(TO) && for folder in $(UNINSTALL_FOLDERS); do [ ! -d $$folder ] || find $$folder -depth -type d -empty -delete || exit 1; done

# ---- Debian packages ----------------------------------------------------------------------------------------------

# Built in a copy, by Debian's own tools; see debian/README.md. Two at a time would be in each other's way.
deb: packages
	@mkdir -p $(BUILD) && flock $(BUILD)/deb.lock debian/build.sh $(BUILD)/deb

# The stanzas of debian/control that follow from the folders in plugins/.
debian/control: FORCE
	@debian/update-control.sh

# ---- what depends on which header ---------------------------------------------------------------------------------

ALL_SOURCES := $(CORE_SOURCES) $(CLI_SOURCES) $(HTTP_SOURCES) $(WRITER_SOURCES) $(WORKER_SOURCES) $(SDK_SOURCES) $(KIT_SOURCES) $(wildcard plugins/*/*.c plugins/*/*/*.c tests/*/*.c tests/*/*/*.c)
DEPENDENCIES := $(addprefix $(BUILD)/,$(addsuffix .d,$(basename $(ALL_SOURCES)))) $(SDK_SCRIPT_OBJECTS:.o=.d)
-include $(DEPENDENCIES) $(BOX_AGENT_OBJECTS:.o=.d) $(LOCAL_KEEPER:%.c=$(KEEPER_BUILD)/%.d) $(sort $(LOCAL_EGRESS:%.c=$(KEEPER_BUILD)/%.d) $(LOCAL_INTERCEPT:%.c=$(KEEPER_BUILD)/%.d) $(EGRESS_STAND_INS:.o=.d) $(INTERCEPT_STAND_INS:.o=.d)) $(TEST_PLUGINS:.so=.d)
-include $(wildcard $(BUILD)/fuzz/core/*/*.d $(BUILD)/fuzz/sdk/*/*.d $(BUILD)/fuzz/targets/*.d $(BUILD)/bench/*.d)
