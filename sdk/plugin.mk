# What every project of a provider does alike. Its makefile sets the variables below and includes this file, which
# `pkg-config --variable=makefile sandlot-provider` names:
#   NAME                of the provider, which is that of its entry function too
#   VERSION MAINTAINER  of the package; DEPENDS: what it depends on, if that is not to be found out
#   LIBRARIES           of a project in C, beyond those of the helper library: -lprotobuf-c
#   SANDLOT             the command, as a shell reads it
# Goals: all (NAME.so), check, test, install, deb, clean. In a folder with .c files all of them become NAME.so; a project in
# another language has the rule for that itself.
VERSION ?= 0.1.0
MAINTAINER ?= Nobody <nobody@localhost>
CFLAGS ?= -O2 -g
SANDLOT ?= sandlot
PKG_CONFIG ?= pkg-config

WARNINGS := -Wall -Wextra
HARDENING := -fstack-protector-strong -Wl,-z,relro,-z,now,-z,noexecstack,-z,defs -Wl,--as-needed
# Of the helper library and of the interface.
SDK_CFLAGS := $(shell $(PKG_CONFIG) --cflags sandlot-provider)
SDK_LIBRARIES := $(shell $(PKG_CONFIG) --libs sandlot-provider)
SDK_FOLDER := $(shell $(PKG_CONFIG) --variable=sdkdir sandlot-provider)
SOURCES := $(wildcard *.c)
OBJECTS := $(SOURCES:.c=.o)

.DELETE_ON_ERROR:
.PHONY: all check test install deb clean
all: $(NAME).so

ifneq ($(SOURCES),)
# A function of the table need not look at all that it is given.
%.o: %.c $(wildcard *.h)
	$(CC) -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -fstack-protector-strong $(WARNINGS) -Wno-unused-parameter $(CFLAGS) \
	    $(SDK_CFLAGS) -c -o $@ $<

$(NAME).so: $(OBJECTS)
	$(CC) -shared $(HARDENING) $(LDFLAGS) -o $@ $(OBJECTS) $(LIBRARIES) $(SDK_LIBRARIES)
	@chmod go-w $@
endif

# With CHECK=--static it only looks at the file, with CHECK='--param base_url=http://127.0.0.1:8080' it has that parameter.
check: $(NAME).so
	$(SANDLOT) plugin check ./$(NAME).so $(CHECK)

test: $(NAME).so
	sh $(SDK_FOLDER)/plugin-test.sh $(NAME) $(SANDLOT)

install: $(NAME).so
	$(SANDLOT) plugin install ./$(NAME).so

PACKAGE := sandlot-provider-$(subst _,-,$(NAME))
ARCHITECTURE = $(shell dpkg --print-architecture)
FOLDER := usr/lib/sandlot/providers
# The major version of the interface to Sandlot, which every Sandlot that can run this provider has.
ABI = $(shell $(PKG_CONFIG) --variable=abi sandlot-provider)
TREE := deb/$(PACKAGE)

# Debugging information stays here: it names this folder.
deb: $(NAME).so
	rm -rf deb
	install -d -m 755 deb deb/debian $(TREE) $(TREE)/DEBIAN $(TREE)/usr $(TREE)/usr/lib $(TREE)/usr/lib/sandlot $(TREE)/$(FOLDER)
	strip --strip-unneeded -o $(TREE)/$(FOLDER)/$(NAME).so $(NAME).so
	chmod 644 $(TREE)/$(FOLDER)/$(NAME).so
	$(find_packages) >deb/depends
	printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nDepends: %s, sandlot-provider-abi-%s\nSection: utils\nPriority: optional\nDescription: %s\n' \
	    '$(PACKAGE)' '$(VERSION)' '$(ARCHITECTURE)' '$(MAINTAINER)' "$$(cat deb/depends)" '$(ABI)' 'Sandboxes of $(NAME) for Sandlot' \
	    >$(TREE)/DEBIAN/control
	dpkg-deb --root-owner-group --build $(TREE) $(PACKAGE)_$(VERSION)_$(ARCHITECTURE).deb

# The packages of the libraries that it needs; dpkg-shlibdeps, of dpkg-dev, also knows from which version on.
find_packages = if [ -n '$(DEPENDS)' ]; then \
	    echo '$(DEPENDS)'; \
	elif command -v dpkg-shlibdeps >/dev/null; then \
	    : >deb/debian/control && (cd deb && dpkg-shlibdeps -Tfound $(PACKAGE)/$(FOLDER)/$(NAME).so) && \
	        sed -n 's/^shlibs:Depends=//p' deb/found; \
	else \
	    for library in $$(readelf -d $(NAME).so | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do \
	        dpkg -S "*/$$library" || exit 1; \
	    done >deb/found && sed -n 's/:$(ARCHITECTURE): .*//p' deb/found | sort -u | paste -s -d , -; \
	fi

clean:
	rm -rf deb *.rcgu.o $(NAME).so $(OBJECTS) $(PACKAGE)_*.deb
