# Every target says what it does: make help.
# The toolchain is pinned to one whose standard library has no advisory that this
# code calls; go fetches it by itself, and scripts/fetch-go where there is no go that can.
export GOTOOLCHAIN := go1.26.11
export CGO_ENABLED := 0
export PATH := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/computer-use-mcp/go/bin:$(PATH)
MAKEFLAGS += --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
FUZZTIME := 30s
BENCHTIME := 1s

.PHONY: help try assets build test test-windows race lint fuzz bench docs picture image image-slim e2e-docker release changelog clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

try: ## install what is missing, build, open a computer, drive it, write try.png
	scripts/install try
	$(MAKE) build
	bin/computer-use-mcp try

assets: ## fetch the part of the viewer page that is not ours, noVNC
	scripts/fetch-novnc

build: assets ## build both binaries into bin/
	go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

test: ## install what the tests need and run them all
	scripts/install test
	$(MAKE) build
	go test -count=1 -timeout 20m ./...

test-windows: ## run the tests of the host binary's packages as Windows programs, under Wine
	scripts/test-windows

race: ## run the tests under the race detector
	scripts/install test
	$(MAKE) assets
	CGO_ENABLED=1 go test -race -short -count=1 -timeout 20m ./...

lint: ## format, vet, static analysis, shell scripts, known vulnerabilities
	scripts/install lint
	scripts/lint

fuzz: ## run every fuzz target for FUZZTIME (30s)
	scripts/fuzz $(FUZZTIME)

bench: ## run every benchmark for BENCHTIME (1s)
	scripts/install test
	$(MAKE) assets
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

docs: ## write the pages that are made of the code
	go test -count=1 -run Doc ./api ./hostmcp -update

picture: assets ## take the README's picture of the viewer page, which shows the time
	rm -rf bin/_artifacts && mkdir -p bin
	go test -count=1 -run ThePageOpensByItself ./internal/e2e -artifacts -outputdir $(CURDIR)/bin
	find bin/_artifacts -name page.png -exec cp {} docs/page.png ';'

image: assets ## build the computer's image as computer-use-mcp:dev (docker build flags: IMAGE_FLAGS)
	VERSION='$(VERSION)' scripts/docker-image full computer-use-mcp:dev $(IMAGE_FLAGS)

image-slim: assets ## build its small flavour as computer-use-mcp:slim
	VERSION='$(VERSION)' scripts/docker-image slim computer-use-mcp:slim $(IMAGE_FLAGS)

e2e-docker: assets ## test computers in Docker; starts an engine where none answers
	scripts/docker-e2e -v

release: assets ## build the archives of all platforms into dist/, with checksums and a bill of materials
	go run ./internal/release -version '$(VERSION)' -out dist

changelog: ## write CHANGELOG.md from the commit messages
	scripts/changelog >CHANGELOG.md

clean: ## remove what was built
	rm -rf bin dist try.png
