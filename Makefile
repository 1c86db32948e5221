# Sandlot. `make help` lists what there is.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
CXX ?= g++
CFLAGS ?= -O2 -g
CXXFLAGS ?= -O2 -g
SANITIZE ?=

WARNINGS := -Wall -Wextra -Werror -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wpointer-arith -Wwrite-strings -Wundef -Wimplicit-fallthrough
COMMON := -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -fPIC -fvisibility=hidden -fstack-protector-strong -MMD -MP -Iinclude $(SANITIZE)
C_FLAGS = -std=c11 $(COMMON) $(WARNINGS) $(CFLAGS)
LINK := -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(SANITIZE)

.DEFAULT_GOAL := all
.PHONY: all
all:

# ---- core: libsandlot and the command ---------------------------------------------------------------------------

CORE_SOURCES := $(filter-out core/cli/%,$(wildcard core/*.c core/*/*.c))
CLI_SOURCES := $(wildcard core/cli/*.c)
CORE_OBJECTS := $(CORE_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/core/config/toml_tree.o
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/%.o)
CORE_LIBRARIES := -ljson-c -linih -lelf -lffi -ldl -lpthread -lm
# toml++ is the only C++; its runtime is linked statically because the shared one would cost start-up time.
CXX_RUNTIME := -static-libstdc++ -static-libgcc

$(BUILD)/core/%.o: core/%.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -Icore -c $< -o $@

$(BUILD)/core/config/toml_tree.o: core/config/toml_tree.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(COMMON) -Wall -Wextra -Werror $(CXXFLAGS) -Icore -c $< -o $@

$(BUILD)/libsandlot.a: $(CORE_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/libsandlot.so: $(CORE_OBJECTS)
	$(CXX) -shared -Wl,-soname,libsandlot.so.0 $(CXX_RUNTIME) $(LINK) -o $@ $^ $(CORE_LIBRARIES)

$(BUILD)/sandlot: $(CLI_OBJECTS) $(BUILD)/libsandlot.a
	$(CXX) $(CXX_RUNTIME) $(LINK) -pie -o $@ $^ $(CORE_LIBRARIES)

# ---- plugins: compiled with include/ and sdk/ only -------------------------------------------------------------

LOCAL_CLIENT := $(wildcard plugins/local/*.c)
LOCAL_KEEPER := plugins/local/protocol.c plugins/local/settings.c $(wildcard plugins/local/keeper/*.c plugins/local/box/*.c)
BUILTINS := $(BUILD)/builtins/local.so $(BUILD)/builtins/sandlot-local-keeper

$(BUILD)/plugins/%.o: plugins/%.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -Isdk/include -Iplugins/local -c $< -o $@

$(BUILD)/builtins/local.so: $(LOCAL_CLIENT:%.c=$(BUILD)/%.o)
	@mkdir -p $(@D)
	$(CC) -shared $(LINK) -Wl,-z,defs -o $@ $^ -lpthread

$(BUILD)/builtins/sandlot-local-keeper: $(LOCAL_KEEPER:%.c=$(BUILD)/%.o)
	@mkdir -p $(@D)
	$(CC) $(LINK) -pie -o $@ $^ -lseccomp -lpthread

# ---- tests ------------------------------------------------------------------------------------------------------

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*_test.c))
TEST_PLUGINS := $(patsubst tests/plugins/%.c,$(BUILD)/tests/plugins/%.so,$(wildcard tests/plugins/*.c))

$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/libsandlot.a
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -Icore -Itests/unit -c $< -o $@.o
	$(CXX) $(CXX_RUNTIME) $(LINK) -o $@ $@.o $(BUILD)/libsandlot.a -lcmocka $(CORE_LIBRARIES)

$(BUILD)/tests/plugins/%.so: tests/plugins/%.c include/sandlot/provider.h
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -shared $(LINK) -o $@ $<

# ---- what people call -------------------------------------------------------------------------------------------

.PHONY: unit
all: $(BUILD)/sandlot $(BUILD)/libsandlot.so $(BUILTINS)
unit: $(UNIT_TESTS) $(TEST_PLUGINS)
	@set -e; for test in $(UNIT_TESTS); do $$test; done

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
