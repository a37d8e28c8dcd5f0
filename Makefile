# What a fresh machine (Debian, Go, Node with npm) needs is installed by the
# targets that need it, and only where it is missing.
#
#   make report         from nothing to out/report.html, made from the samples
#   make test           everything that CI runs
#   make build          bin/vreport with the chart library inside
#   make check          format, vet, staticcheck, deadcode
#   make samples        out/samples-full: the whole sample data set, simulated anew
#   make calibrate      the simulator against a measured sweep, CORPUS=DIR
#   make study-diagnosis  how often the diagnosis finds what was planted, seeds 101 to 110
#   make study-compare  how often comparisons are right: the table of docs/compare-study.md
#   make study-sweeps   how often knees, stops and capacities are found where they were planted, seeds 311 to 330
#   make golden         rewrite the golden files of the tests
#   make peers          the engines and parsers that the tests try queries on
#   make fuzz           every fuzz target, FUZZTIME each
#   make mutants        4,000 damaged Parquet files
#   make bench          benchmarks
#   make corpus         tests over a directory of real files, CORPUS=DIR
#   make release-check  compile for every platform
#   make clean          remove everything that was made

GO       ?= go
NPM      ?= npm
FUZZTIME ?= 30s
CORPUS   ?=

BIN    := bin/vreport
BUNDLE := templates/dist/echarts.js.gz
# npm writes this file last, so it dates the installation.
MODULES := templates/node_modules/.package-lock.json
PEERS   := .ci/peers/node_modules/.package-lock.json

# No C compiler is needed, and no path of this machine gets into the binary.
export CGO_ENABLED = 0
GOBUILD := $(GO) build -trimpath

# Go files that are ours: generated and installed folders are left out.
GOFILES = $(shell find . \( -name node_modules -o -name out -o -name bin -o -name '.?*' \) -prune -o -name '*.go' -print)

.DELETE_ON_ERROR:
.PHONY: report build test check browser peers samples calibrate study-compare study-diagnosis study-sweeps golden fuzz mutants bench corpus release-check clean

report: build
	rm -rf out/samples
	$(BIN) samples out/samples
	$(BIN) report out/samples/sweep out/samples/server/metrics out/samples/trace -o out/report.html
	@echo "Open out/report.html in a browser: throughput against latency with its knee, latency percentiles, for whom it is slow, and the server over time."

# The Go tool knows best what is out of date; it takes no time where nothing is.
build: $(BUNDLE)
	$(GOBUILD) -o $(BIN) ./cmd/vreport

$(BUNDLE): $(MODULES) $(wildcard templates/src/*.js) templates/package.json templates/static/notices.txt
	cd templates && $(NPM) run --silent build
	@touch $@

$(MODULES): templates/package-lock.json templates/package.json templates/.npmrc
	@command -v $(NPM) >/dev/null || { echo "make: the chart library needs Node with npm, which is not installed (go build ./cmd/vreport works without: tables instead of charts)" >&2; exit 1; }
	cd templates && $(NPM) ci --ignore-scripts --no-audit --no-fund
	@touch $@

# With these variables a test that finds no browser, no bundle or no engine fails
# instead of skipping.
test: $(BUNDLE) check browser peers
	VREPORT_REQUIRE_PEERS=1 VREPORT_REQUIRE_CHROMIUM=1 VREPORT_REQUIRE_BUNDLE=1 $(GO) test ./...
	@# Which loops the tests above were of; VREPORT_REQUIRE_AVX512=1 fails where
	@# those in assembly were not among them.
	$(GO) test -count=1 -v -run '^TestLoops$$' ./ingest/wide
	@# What processors without AVX-512 do.
	$(GO) test -tags purego ./ingest/wide ./ingest/column ./ingest/trace ./analyze/cube

check:
	@unformatted=$$(gofmt -l $(GOFILES)); test -z "$$unformatted" || { echo "gofmt is wanted for:" $$unformatted >&2; exit 1; }
	$(GO) vet ./...
	@# A module file that wants an update makes staticcheck see no package at all,
	@# and pass.
	@out=$$($(GO) tool -modfile=tools.mod staticcheck ./... 2>&1); status=$$?; test -z "$$out" || echo "$$out"; \
		case "$$out" in *"matched no packages"*) exit 1;; esac; exit $$status
	@# What only tests call belongs to them; what nothing calls is deleted.
	@out=$$($(GO) tool -modfile=tools.mod deadcode ./... 2>&1) && test -z "$$out" || { echo "$$out" >&2; exit 1; }

browser:
	@.ci/install-chromium

# DuckDB, ClickHouse and SQL grammars, for the tests of vreport sql; DuckDB for
# those of Parquet files, too.
peers: $(PEERS)

$(PEERS): .ci/peers/package-lock.json .ci/peers/package.json .ci/peers/.npmrc
	cd .ci/peers && $(NPM) install --no-save --ignore-scripts --no-audit --no-fund
	@touch $@

# Twice gives the same bytes: the seed is fixed.
samples:
	rm -rf out/samples-full
	$(GO) run ./samples/generate -full out/samples-full

calibrate:
	@test -n "$(CORPUS)" || { echo "make: calibrate needs CORPUS=DIR, a directory with bench/vllm_serve/auro_h100_fp16_8b_1024x512" >&2; exit 1; }
	$(GO) run ./samples/calibrate $(CORPUS)/bench/vllm_serve/auro_h100_fp16_8b_1024x512

# The rules were tuned on seeds 1 to 10: other seeds say how good they are.
study-diagnosis:
	$(GO) run ./samples/studies/diagnosis -from 101 -to 110

# Some minutes, of the seeds in the table. Seeds 1 to 100 are for tuning: go run ./samples/studies/compare -from 1 -to 100 -list
study-compare:
	$(GO) run ./samples/studies/compare

# It fails on what docs/sweep-study.md says is missed.
study-sweeps:
	$(GO) test -count=1 -v -timeout 60m -run '^TestPlantedCurves$$' ./samples -curves 311-330

golden: $(BUNDLE)
	$(GO) test $$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"' analyze cmd ingest render samples templates --exclude-dir=node_modules | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

# A minute is spent on making each interesting input small, unless it is said
# otherwise: then nearly none is left for finding some.
fuzz:
	@set -e; grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' analyze cmd ingest render samples | while IFS=: read -r file _ func; do \
		name=$${func#func }; echo "$$(dirname $$file) $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./$$(dirname $$file) </dev/null; \
	done

mutants:
	VREPORT_MUTANTS=4000 $(GO) test -count=1 -v -run '^TestMutants$$' ./ingest/trace

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

corpus:
	@test -d "$(CORPUS)" || { echo "make: want a directory of real files, e.g. make corpus CORPUS=../corpus" >&2; exit 1; }
	VREPORT_CORPUS=$(abspath $(CORPUS)) $(GO) test -count=1 -run Corpus ./...

release-check: $(BUNDLE)
	@set -e; for os in linux darwin windows; do for arch in amd64 arm64; do \
		echo "$$os/$$arch"; GOOS=$$os GOARCH=$$arch $(GOBUILD) -o /dev/null ./cmd/vreport; \
	done; done

clean:
	rm -rf bin out templates/node_modules .ci/peers/node_modules $(BUNDLE)
