package render

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

func renderMarkdown(t *testing.T, rep *analyze.Report, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := NewPrinter(rep, opt).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdownGolden(t *testing.T) {
	golden(t, "report.md", []byte(renderMarkdown(t, richReport(), Options{Version: "v0.0.0-test", Command: "vreport report --slo 'ttft:p99<500ms' results/"})))
	golden(t, "empty.md", []byte(renderMarkdown(t, emptyReport(), Options{})))
}

func TestMarkdownSaysTheVerdictFirst(t *testing.T) {
	md := renderMarkdown(t, richReport(), Options{Command: "vreport report results/"})
	if !strings.HasPrefix(md, markdownMarker+"\n") {
		t.Errorf("the marker is not the first line: %.60q", md)
	}
	at := 0
	for _, want := range []string{"Gate: undecided", "knee at 64 in flight", "TTFT p99 grows", "### Runs", "saturation knee N* 48", "### Slices", "### Servers", "≥ 10.0 s", "### Data quality", "<details>", "vreport report results/"} {
		i := strings.Index(md[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing or out of place", want)
		}
		at += i
	}
}

// dangers are what must not stand in a comment made from hostile data.
var dangers = []*regexp.Regexp{
	regexp.MustCompile(`(?i)<script`),
	regexp.MustCompile(`(?i)<img`),
	regexp.MustCompile("(^|[^\\\\`\\w])@everyone"),
	regexp.MustCompile(`(^|[^\\])\]\(`),
	regexp.MustCompile(`(^|[^&])#[0-9]`),
	regexp.MustCompile(`(?i)https?://`),
	regexp.MustCompile("[\x00-\x09\x0b-\x1f\u202e\u2028]"),
}

func TestMarkdownIsInert(t *testing.T) {
	md := renderMarkdown(t, richReport(), Options{Version: hostileText, Command: "vreport report '" + hostileText + hostileModel + "'"})
	// In a block of code nothing is linked.
	body, code, _ := strings.Cut(md, "<pre>")
	for _, re := range dangers {
		if m := re.FindStringIndex(body); m != nil {
			t.Errorf("%s: %q", re, body[max(0, m[0]-40):min(len(body), m[1]+40)])
		}
	}
	for _, re := range dangers[:3] {
		if re.MatchString(code) {
			t.Errorf("in the command: %s", re)
		}
	}
	if !utf8.ValidString(md) {
		t.Error("not UTF-8")
	}
}

// Every row of a table has as many cells as its head, whatever the data hold.
func TestMarkdownTablesAreWhole(t *testing.T) {
	md := renderMarkdown(t, richReport(), Options{})
	cols, tables := 0, 0
	for _, l := range strings.Split(md, "\n") {
		n := strings.Count(l, "|")
		switch {
		case !strings.HasPrefix(l, "|"):
			if n > 0 {
				t.Errorf("a pipe outside a table: %q", l)
			}
			cols = 0
		case cols == 0:
			cols = n
			tables++
		case n != cols:
			t.Errorf("%d cells, want %d: %q", n-1, cols-1, l)
		}
	}
	if tables != 11 {
		t.Errorf("%d tables, want 11: five of the incident, diagnosis, runs, ceilings, slices, servers, inputs", tables)
	}
}

// However much there is, the comment stays under the limit and keeps its
// verdict, its title and its first point.
func TestMarkdownSize(t *testing.T) {
	long := strings.Repeat(hostileText+"|&<>`[]", 40)
	for _, n := range []int{1, 30, 1000} {
		for _, label := range []string{"c", long} {
			rep := bigReport(n, label)
			md := renderMarkdown(t, rep, Options{Version: "v1", Command: "vreport report " + strings.Repeat(label, n)})
			if len(md) >= maxMarkdown {
				t.Errorf("%d of %.8q…: %d bytes", n, label, len(md))
			}
			for _, want := range []string{"Gate: undecided", "## Llama sweep", "knee at 64", "- TTFT p99 grows"} {
				if !strings.Contains(md, want) {
					t.Errorf("%d of %.8q…: %q was shed", n, label, want)
				}
			}
			if n > 100 && !strings.Contains(md, " more ") {
				t.Errorf("%d of %.8q…: nothing says that detail was left out", n, label)
			}
		}
	}
}

// bigReport is the rich report with n of everything, all labelled alike.
func bigReport(n int, label string) *analyze.Report {
	rep := richReport()
	runs, sweeps, sl := analyze.Value[analyze.Runs](rep), analyze.Value[analyze.Sweeps](rep), analyze.Value[analyze.Slices](rep)
	servers, quality, inputs := analyze.Value[analyze.Servers](rep), analyze.Value[analyze.QualityFindings](rep), analyze.Value[analyze.Inputs](rep)
	summary := analyze.Value[analyze.Summary](rep)
	for i := range n {
		r := fixtureRun(int64(i), 0.1, fixtureCounts(10, 1))
		r.Run.Label = fmt.Sprint(i, label)
		runs.Runs = append(runs.Runs, r)
		s := *sweeps.Sweeps[0]
		s.Label = label
		sweeps.Sweeps = append(sweeps.Sweeps, &s)
		d := *sl.Datasets[1]
		d.Dataset = label
		sl.Datasets[1].Cross = append(sl.Datasets[1].Cross, fixtureSlice([]serving.Term{{Dim: label, Value: label}}, 0.1, 0.1))
		if i < 100 { // each is a table
			sl.Datasets = append(sl.Datasets, &d)
		}
		sv := *servers.Servers[0]
		sv.Server = &serving.Server{ID: label, Label: label}
		servers.Servers = append(servers.Servers, &sv)
		quality.Findings = append(quality.Findings, analyze.Finding{ID: label, Subject: label, Message: label})
		in := &serving.Input{Path: label, Format: "vllm-serve"}
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: label}, Message: label})
		inputs.Inputs = append(inputs.Inputs, in)
		summary.Points = append(summary.Points, label)
		summary.Cards = append(summary.Cards, analyze.Card{Label: label, Value: serving.Some(1.0), Sub: label})
		rep.Gate.Reasons = append(rep.Gate.Reasons, label)
		rep.Results = append(rep.Results, analyze.Result{Section: &analyze.Section{Title: label}, Skipped: label})
	}
	return rep
}

// A comment without any input and without a title is still one.
func TestMarkdownOfNothing(t *testing.T) {
	md := renderMarkdown(t, &analyze.Report{}, Options{})
	if md != markdownMarker+"\n## vreport\n\n" {
		t.Errorf("%q", md)
	}
}

// The slowest slice comes first, but one that n does not support never beats
// one that it does.
func TestSlowestSlices(t *testing.T) {
	slice := func(name string, p99 float64, q analyze.Quality) *analyze.Slice {
		s := &analyze.Slice{By: []serving.Term{{Dim: "w", Value: name}}}
		if p99 > 0 {
			s.Dists = analyze.Dists{{Metric: serving.TTFT, Quantiles: []analyze.Quantile{{P: 0.99, Value: serving.Some(p99), Quality: q}}}}
		}
		return s
	}
	d := &analyze.DatasetStats{Cross: []*analyze.Slice{
		slice("none", 0, ""), slice("few", 9, analyze.QualityUnsupported), slice("b", 2, analyze.QualityOK),
		slice("a", 2, analyze.QualityWeak), slice("worst", 3, analyze.QualityOK),
	}}
	var got []string
	for _, s := range slowest(d, serving.TTFT) {
		got = append(got, s.By[0].Value)
	}
	if s := strings.Join(got, " "); s != "worst a b few none" {
		t.Errorf("order is %s", s)
	}
}

func TestEscapeMarkdown(t *testing.T) {
	const z = zeroWidth
	for in, want := range map[string]string{
		"plain text":         "plain text",
		"max_num_seqs":       "max_num_seqs",
		"__f__x":             `\_\_f\_\_x`,
		"a|b":                "a&#124;b",
		"`code`":             "&#96;code&#96;",
		"<img src=x>":        "&lt;img src=x&gt;",
		"&quot;":             "&amp;quot;",
		"[x](javascript:1)":  `\[x\](javascript:1)`,
		"@everyone":          "@" + z + "everyone",
		"a@b.c":              "a@" + z + "b.c",
		"#123 x#4 #a":        `\#` + z + "123 x#" + z + "4 #a",
		"https://e.x/":       "https:" + z + "//e.x/",
		"www.e.x":            "www" + z + ".e.x",
		"GH-12":              "GH-" + z + "12",
		"- item":             `\- item`,
		"1. item":            `1\. item`,
		"12) item":           `12\) item`,
		"1.5 s":              "1.5 s",
		"two\nlines\r\n end": "two lines end",
		"**b** ~~s~~ $x$":    `\*\*b\*\* \~\~s\~\~ \$x\$`,
		`back\slash`:         "back&#92;slash",
		"\x1b[31m\u202ex":    `\[31mx`,
		"\xff":               "\uFFFD",
		"한국어 p99":            "한국어 p99",
		" \t\n":              "",
	} {
		if got := escapeMarkdown(in); got != want {
			t.Errorf("escapeMarkdown(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCommonDir(t *testing.T) {
	for _, c := range []struct {
		paths string
		want  string
	}{
		{"a/b/c1.json a/b/c2.json", "a/b/"}, {"a/b/c.json a/bc/d.json", "a/"}, {"/x /y", "/"}, {"a b", ""},
		{"a/b", ""}, {"/r/s/a /r/s/t/b /r/s/t/c", "/r/s/"}, {"a/b a", ""}, {"a/ a/b", "a/"},
	} {
		var inputs []*serving.Input
		for _, p := range strings.Fields(c.paths) {
			inputs = append(inputs, &serving.Input{Path: p})
		}
		if got := commonDir(inputs); got != c.want {
			t.Errorf("commonDir(%s) = %q, want %q", c.paths, got, c.want)
		}
	}
}

func TestCommandBlock(t *testing.T) {
	for in, want := range map[string]string{
		"vreport report --slo 'ttft:p99<500ms' a": "```sh\nvreport report --slo 'ttft:p99<500ms' a\n```",
		"vreport report '<script>'":               "<pre>vreport report '&lt;script&gt;'</pre>",
		"vreport report '```' @everyone":          "<pre>vreport report '&#96;&#96;&#96;' &#64;everyone</pre>",
		"vreport report 'a<'":                     "<pre>vreport report 'a&lt;'</pre>",
	} {
		if got := mdCode(in); got != want {
			t.Errorf("mdCode(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"vreport report 'a  b'", 99, "vreport report 'a  b'"}, {"a\nb\x1bc\u202e", 9, "a b c "}, {"abcdef", 3, "abc …"}} {
		if got := commandLine(c.in, c.n); got != c.want {
			t.Errorf("commandLine(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"한국어입니다", 4, "한국어…"}, {"a\nb", 9, "a b"}, {"ab", 0, "…"}} {
		if got := clip(c.in, c.n); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzEscapeMarkdown(f *testing.F) {
	for _, s := range []string{hostileModel, hostileLabel, hostileText, hostileDim, hostileBinary, "\\@everyone", "\\|", "\\\\[a](b)",
		"@\u200deveryone", "<\u200bimg", "[a]: javascript:alert(1)", "![x](y)", "<!-- -->", "~~~", "| --- |", "h\x00ttps://x", "#\u200d1"} {
		f.Add(s)
	}
	unsafe := append([]*regexp.Regexp{
		regexp.MustCompile(`[<>|` + "`" + `\n\r]`),
		regexp.MustCompile(`@[^` + zeroWidth + `]|@$`),
		regexp.MustCompile(`(^|[^\\])[\[\]*~$]`),
		regexp.MustCompile(`&([^#aglt]|$)`),
	}, dangers...)
	f.Fuzz(func(t *testing.T, s string) {
		got := escapeMarkdown(s)
		for _, re := range unsafe {
			if m := re.FindString(got); m != "" {
				t.Fatalf("%q became %q: %s matches %q", s, got, re, m)
			}
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q became invalid UTF-8", s)
		}
	})
}
