package prom

import (
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"scrape", small, true},
		{"byte order mark", "\ufeff" + small, true},
		{"carriage returns", strings.ReplaceAll(small, "\n", "\r\n"), true},
		{"HTTP headers", "HTTP/1.1 200 OK\ndate: Sat, 29 Nov 2025 12:00:00 GMT\n\n" + small, true},
		{"curl -v", "* Connected to localhost\n> GET /metrics HTTP/1.1\n>\n< HTTP/1.1 200 OK\n<\n" + small, true},
		{"header comments", "# Timestamp: 2025-11-29T12:00:00Z\n# Pod: vllm-0\n" + small, true},
		{"prompt", "$ curl localhost:8000/metrics\n" + small, true},
		{"date above", "Sat Nov 29 12:00:00 UTC 2025\n" + small, true},
		{"without comments", grep(small, "vllm:", "#"), true},
		{"one gauge", "vllm:num_requests_running 3\n", true},
		{"one gauge over time", "vllm:num_requests_running{model_name=\"m\"} 3\nvllm:num_requests_running{model_name=\"m\"} 4\n", true},
		{"node exporter", "node_load1 0.5\nnode_load5 0.6\nnode_memory_MemFree_bytes 1e9\n", true},
		{"unknown exporter with labels", "foo{a=\"1\"} 1\nfoo{a=\"2\"} 2\nbar{a=\"1\"} 3\n", true},
		{"with timestamps", "foo_total{a=\"1\"} 1 1764417600000\nfoo_total{a=\"2\"} 2 1764417600000\nbar_total 3 1764417600000\n", true},
		{"damaged lines", strings.Replace(small, "3.0\n", "three\n\x00\x01\x02\n", 1), true},
		{"long, cut by the head", strings.Repeat(small, 1000)[:sniffLimit+17], true},

		{"empty", "", false},
		{"blank", "\n\n", false},
		{"comments only", "# HELP a b\n# TYPE a gauge\n", false},
		{"family list", "# families\nvllm:cache_config_info gauge\nvllm:num_requests_running gauge\n", false},
		{"configuration", "port 6379\nmaxclients 10000\ntimeout 0\ntcp_keepalive 300\n", false},
		{"word list", "the 1034\nof 999\nand 800\nserver 3\n", false},
		{"CSV", "time,running,waiting\n1764417600,3,0\n1764417615,4,0\n", false},
		{"TSV", "name\tvalue\nttft\t1.5\ntpot\t0.2\n", false},
		{"JSON", "{\n  \"vllm:num_requests_running\": 3,\n  \"b\": 4\n}\n", false},
		{"JSON lines", "{\"ts\": 1, \"vllm:num_requests_running\": 3}\n{\"ts\": 2, \"vllm:num_requests_running\": 3}\n", false},
		{"dump of promtool", "{__name__=\"up\", job=\"x\"} 1 1764417600000\n{__name__=\"up\", job=\"x\"} 1 1764417615000\n{__name__=\"up\", job=\"y\"} 1 1764417615000\n", false},
		{"log", "INFO 11-29 12:00:00 loggers.py:123] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 3 reqs\nINFO 11-29 12:00:10 loggers.py:123] Engine 000: Running: 4 reqs\n", false},
		{"alert rules", "groups:\n- name: vllm\n  rules:\n  - alert: Queue\n    expr: vllm:num_requests_waiting{model_name=\"m\"} > 10\n    for: 5m\n", false},
		{"Go", "package x\n\n// # TYPE foo gauge\nvar m = `\n# HELP foo bar\n# TYPE foo gauge\nfoo 1\n`\n\nfunc main() {\n\tprintln(m)\n\tprintln(m, m)\n}\n", false},
		{"document", "# Metrics\n\nThe server exposes metrics.\nHere is an example:\n\n```\n# TYPE foo gauge\nfoo 1\nfoo{a=\"1\"} 2\n```\n\nAnd another one:\n\n```\nbar 1\n```\n\nThat is all.\n", false},
		{"HTML", "<html><body>\n<h1>404</h1>\n</body></html>\n", false},
		{"result table", "============ Serving Benchmark Result ============\nSuccessful requests:                     100\nMean TTFT (ms):                          12.5\n==================================================\n", false},
		{"environment", "A=1\nB=2\nC=3\n", false},
		{"queries", "sum(rate(vllm:generation_tokens_total[5m]))\nhistogram_quantile(0.99, x)\nvllm:num_requests_running\n", false},
		{"binary", "PAR1\x15\x04\x15\x10\x15\x14\x4c\x15\x02\x15\x00\n\x00\x01", false},
	} {
		if got := Sniff([]byte(c.text)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
