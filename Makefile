# Sandlot. `make help` lists what there is.
BUILD ?= build
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Werror -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wpointer-arith -Wwrite-strings -Wundef -Wcast-qual -Wimplicit-fallthrough
COMMON := -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections $(WARNINGS) -MMD -MP

all: $(BUILD)/sandlot

.PHONY: all
