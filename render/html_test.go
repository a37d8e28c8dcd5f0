package render

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/templates"
)

// tinyLibrary stands for the chart library where a test is not about charts.
var tinyLibrary = squeeze("globalThis.echarts={};\n")

func squeeze(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.Bytes()
}

func renderHTML(t *testing.T, rep *analyze.Report, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	must(t, NewPrinter(rep, opt).HTML(&b))
	return b.String()
}

// A node walk that calls f for every element.
func elements(n *html.Node, f func(*html.Node)) {
	if n.Type == html.ElementNode {
		f(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		elements(c, f)
	}
}

func attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

func innerText(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return b.String()
}

// TestEverySectionHasItsParts holds the lists together: a section of package
// analyze, a view here and a template each.
func TestEverySectionHasItsParts(t *testing.T) {
	var sections, viewed, templated []string
	for _, s := range analyze.Sections {
		sections = append(sections, s.Name)
	}
	for _, v := range views {
		viewed = append(viewed, v.name)
	}
	files, err := fs.Glob(templates.FS, "sections/*.gohtml")
	must(t, err)
	for _, f := range files {
		templated = append(templated, strings.TrimSuffix(filepath.Base(f), ".gohtml"))
	}
	if d := cmp.Diff(sections, viewed); d != "" {
		t.Errorf("analyze.Sections and render's views differ (-section +view):\n%s", d)
	}
	slices.Sort(sections)
	if d := cmp.Diff(sections, templated); d != "" {
		t.Errorf("analyze.Sections and templates/sections differ (-section +template):\n%s", d)
	}
	for _, v := range views {
		name := filepath.Join(".", "view_"+v.name+".go")
		if _, err := os.Stat(name); err != nil {
			t.Errorf("section %s has no file %s", v.name, name)
		}
	}
}

// TestPageStructure checks the whole page as a browser parses it.
func TestPageStructure(t *testing.T) {
	for name, rep := range map[string]*analyze.Report{"page": pageReport(), "hostile": richReport(), "empty": emptyReport()} {
		t.Run(name, func(t *testing.T) {
			page := renderHTML(t, rep, Options{Version: "0.0.0", Command: "vreport report <results>", ChartLibrary: tinyLibrary})
			doc, err := html.Parse(strings.NewReader(page))
			must(t, err)
			checkIDs(t, doc)
			checkMarkup(t, doc)
			checkPolicy(t, doc)
			checkIslands(t, doc)
			for _, r := range rep.Results {
				if !strings.Contains(page, `<section id="`+r.Section.Name+`"`) {
					t.Errorf("no section %s", r.Section.Name)
				}
			}
		})
	}
}

// checkIDs demands unique ids, and a target for each reference.
func checkIDs(t *testing.T, doc *html.Node) {
	ids := map[string]bool{}
	var refs []string
	elements(doc, func(n *html.Node) {
		if id, ok := attr(n, "id"); ok {
			if ids[id] || !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(id) {
				t.Errorf("id %q is there twice, or holds data", id)
			}
			ids[id] = true
		}
		for _, k := range []string{"aria-labelledby", "data-copy", "data-csv"} {
			if v, ok := attr(n, k); ok {
				refs = append(refs, v)
			}
		}
		if h, ok := attr(n, "href"); ok {
			if !strings.HasPrefix(h, "#") {
				t.Errorf("<%s href=%q> leads out of the page", n.Data, h)
			}
			refs = append(refs, strings.TrimPrefix(h, "#"))
		}
	})
	for _, r := range refs {
		if !ids[r] {
			t.Errorf("nothing has the id %q", r)
		}
	}
}

func checkMarkup(t *testing.T, doc *html.Node) {
	allowed := strings.Fields("html head meta title style body a header div svg path circle span nav ul li button main noscript p section h1 h2 h3 h4 table caption thead tbody tr th td small b i code pre details summary dl dt dd figure figcaption footer script fieldset legend label input select option")
	elements(doc, func(n *html.Node) {
		if !slices.Contains(allowed, n.Data) {
			t.Errorf("<%s> is none of the page's elements", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "srcset" || a.Key == "action" {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
		switch n.Data {
		case "th":
			if s, _ := attr(n, "scope"); s == "" {
				t.Errorf("<th> without a scope: %s", innerText(n))
			}
		case "button":
			if typ, _ := attr(n, "type"); typ != "button" {
				t.Errorf("<button> without a type: %s", innerText(n))
			}
		case "tr":
			checkRow(t, n)
		}
	})
}

// checkRow demands as many cells in a body row as its table has columns.
func checkRow(t *testing.T, tr *html.Node) {
	if tr.Parent == nil || tr.Parent.Data != "tbody" {
		return
	}
	table := tr.Parent.Parent
	want, got := 0, 0
	elements(table, func(n *html.Node) {
		if n.Data == "th" && n.Parent.Parent.Data == "thead" && n.Parent == n.Parent.Parent.LastChild {
			want++
		}
	})
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			got++
		}
	}
	if got != want {
		id, _ := attr(table, "id")
		t.Errorf("table %s: a row of %d cells under %d headings", id, got, want)
	}
}

// checkPolicy computes the hashes of what is in the page.
func checkPolicy(t *testing.T, doc *html.Node) {
	policy := ""
	elements(doc, func(n *html.Node) {
		if h, _ := attr(n, "http-equiv"); h == "Content-Security-Policy" {
			policy, _ = attr(n, "content")
		}
	})
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'sha256-") {
		t.Errorf("policy %q", policy)
	}
	script, _, _ := strings.Cut(policy[strings.Index(policy, "script-src"):], ";")
	if strings.Contains(script, "unsafe") || strings.Contains(script, "http") || strings.Contains(policy, "unsafe-eval") {
		t.Errorf("policy %q", policy)
	}
	want := []string{hash([]byte(gunzipString(t, tinyLibrary)))}
	elements(doc, func(n *html.Node) {
		if typ, _ := attr(n, "type"); n.Data == "script" && typ != "application/json" || n.Data == "style" {
			want = append(want, hash([]byte(innerText(n))))
		}
	})
	if len(want) != 3 {
		t.Errorf("%d inline scripts and styles, want 2", len(want)-1)
	}
	for _, h := range want {
		if !strings.Contains(policy, h) {
			t.Errorf("the policy lacks %s", h)
		}
	}
}

func gunzipString(t *testing.T, b []byte) string {
	t.Helper()
	s, err := gunzip(b)
	must(t, err)
	return string(s)
}

// unpackedCharts reads the island of chart options as the page's script does.
func unpackedCharts(t *testing.T, packed string) map[string]any {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(packed)
	must(t, err)
	var charts map[string]any
	must(t, json.Unmarshal([]byte(gunzipString(t, raw)), &charts))
	return charts
}

// checkIslands demands JSON that parses and that no parser takes for markup.
func checkIslands(t *testing.T, doc *html.Node) {
	found := map[string]any{}
	elements(doc, func(n *html.Node) {
		if typ, _ := attr(n, "type"); n.Data != "script" || typ != "application/json" {
			return
		}
		id, _ := attr(n, "id")
		raw := innerText(n)
		if strings.ContainsAny(raw, "<>&\u2028\u2029") {
			t.Errorf("island %s holds a character that can end it", id)
		}
		var v any
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			t.Errorf("island %s: %v", id, err)
		}
		found[id] = v
	})
	data, _ := found["vreport-data"].(map[string]any)
	if data["schema"] != "vreport.report/v1" {
		t.Errorf("vreport-data is %.80v", found["vreport-data"])
	}
	if packed, _ := found["vr-charts"].(string); unpackedCharts(t, packed) == nil {
		t.Errorf("vr-charts is %.80v", found["vr-charts"])
	}
	if s, _ := found["vr-lib"].(string); s != base64.StdEncoding.EncodeToString(tinyLibrary) {
		t.Errorf("vr-lib is %.80v", found["vr-lib"])
	}
}

// TestHostileLabelsStayText looks for every hostile label as a browser would
// find it: as text, and whole.
func TestHostileLabelsStayText(t *testing.T) {
	page := renderHTML(t, richReport(), Options{ChartLibrary: tinyLibrary})
	for _, bad := range []string{"<script>window.__pwn", "<img src=x", "</script><script>window"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	doc, err := html.Parse(strings.NewReader(page))
	must(t, err)
	var text strings.Builder
	elements(doc, func(n *html.Node) {
		if n.Data == "main" {
			text.WriteString(innerText(n))
		}
	})
	for _, label := range []string{hostileModel, hostileLabel, hostileText, "a|b"} {
		if !strings.Contains(text.String(), label) {
			t.Errorf("the text of the page lacks %q", label)
		}
	}
}

// TestChartOptionsCarryNoData holds the rule that keeps labels inert in the
// chart library: names of series and formatters are ours.
func TestChartOptionsCarryNoData(t *testing.T) {
	c := newPageContext(richReport(), true)
	_, err := c.sections()
	must(t, err)
	if len(c.drawings) < 4 {
		t.Fatalf("only %d charts", len(c.drawings))
	}
	for id, raw := range c.drawings {
		var v any
		must(t, json.Unmarshal(raw, &v))
		checkOption(t, id, "", v)
	}
}

var (
	okFormatter = regexp.MustCompile(`^(fmt:[a-zA-Z0-9]+|tip:[a-z]+|\{@\[[0-9]\]\}|\{b\}|restart|gap|deploy|note|SLO [0-9.,]+ m?s)$`)
	okColor     = regexp.MustCompile(`^(var\(--[a-z0-9-]+\)|transparent)$`)
)

func checkOption(t *testing.T, id, key string, v any) {
	switch x := v.(type) {
	case string:
		low := strings.ToLower(key)
		switch {
		case key == "formatter" && !okFormatter.MatchString(x), strings.HasSuffix(low, "color") && !okColor.MatchString(x):
			t.Errorf("%s: %s is %q", id, key, x)
		}
	case []any:
		for _, e := range x {
			checkOption(t, id, key, e)
		}
	case map[string]any:
		for k, e := range x {
			if k == "series" {
				for i, s := range e.([]any) {
					if n, ok := s.(map[string]any)["name"]; ok && !regexp.MustCompile(`^s[0-9]+$`).MatchString(n.(string)) {
						t.Errorf("%s: series %d is called %q", id, i, n)
					}
				}
			}
			checkOption(t, id, k, e)
		}
	}
}

func TestPageIsTheSameTwice(t *testing.T) {
	lib, _ := templates.ChartLibrary()
	opt := Options{Version: "0.0.0", ChartLibrary: lib}
	if a, b := renderHTML(t, pageReport(), opt), renderHTML(t, pageReport(), opt); a != b {
		t.Error("two pages of one report differ")
	}
}

// TestPageSize keeps a report of nine runs below 1 MB, the library inside.
func TestPageSize(t *testing.T) {
	lib, ok := templates.ChartLibrary()
	if !ok {
		lib = squeeze(randomText(650_000))
	}
	rep := pageReport()
	for i, r := range rep.Results {
		switch r.Section.Name {
		case "slices", "servers", "timeline":
			rep.Results[i].Value = nil
		}
	}
	if n := len(renderHTML(t, rep, Options{ChartLibrary: lib})); n > 1_000_000 {
		t.Errorf("the page has %d bytes", n)
	}
}

// randomText is as hard to compress as a minified script.
func randomText(n int) string {
	var b strings.Builder
	sum := sha256.Sum256(nil)
	for b.Len() < n {
		sum = sha256.Sum256(sum[:])
		b.WriteString(base64.StdEncoding.EncodeToString(sum[:8]))
		b.WriteString("function(){return this};")
	}
	return b.String()
}

func TestWithoutChartLibrary(t *testing.T) {
	page := renderHTML(t, pageReport(), Options{})
	if !strings.Contains(page, "no chart library inside") || !strings.Contains(page, "--echarts-js") {
		t.Error("the page does not say why it has no charts")
	}
	if strings.Contains(page, `class="chart `) || strings.Contains(page, "Third-party notices") || strings.Contains(page, `id="vr-lib"`) {
		t.Error("the page has parts of a chart library")
	}
	if n := strings.Count(page, `<details class="data" open>`); n < 5 {
		t.Errorf("%d tables are open in place of charts", n)
	}
	if strings.Contains(renderHTML(t, emptyReport(), Options{}), "no chart library inside") {
		t.Error("a page that wants no chart says that it has none")
	}
}

func TestStockLibrary(t *testing.T) {
	js := "globalThis.echarts={version:'stock'};\n"
	page := renderHTML(t, pageReport(), Options{StockECharts: []byte(js), ChartLibrary: tinyLibrary})
	doc, err := html.Parse(strings.NewReader(page))
	must(t, err)
	found := false
	elements(doc, func(n *html.Node) { found = found || n.Data == "script" && innerText(n) == js })
	if !found {
		t.Error("the stock library is not in the page as it is")
	}
	if !strings.Contains(page, html.EscapeString(hash([]byte(js)))) && !strings.Contains(page, hash([]byte(js))) {
		t.Error("the policy does not allow the stock library")
	}
	if strings.Contains(page, `id="vr-lib"`) || !strings.Contains(page, "Apache License") {
		t.Error("want the stock library alone, with its licence")
	}
	for _, bad := range []string{"x='</SCRIPT>'", "x='<!-- <script>'", "a\x00b", "a\r\nb"} {
		if err := NewPrinter(pageReport(), Options{StockECharts: []byte(bad)}).HTML(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "--echarts-js") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	if err := NewPrinter(pageReport(), Options{ChartLibrary: []byte("no gzip")}).HTML(&bytes.Buffer{}); err == nil {
		t.Error("a damaged library is no error")
	}
}

// TestThemesAgree holds the two places of the dark tokens together.
func TestThemesAgree(t *testing.T) {
	css := templates.CSS()
	block := func(selector string) string {
		i := strings.Index(css, selector+" {")
		if i < 0 {
			t.Fatalf("no %s", selector)
		}
		body := css[i+len(selector)+2:]
		return strings.Join(strings.Fields(body[:strings.IndexByte(body, '}')]), " ")
	}
	if d := cmp.Diff(block(":root:not([data-theme=light])"), block(":root[data-theme=dark]")); d != "" {
		t.Error(d)
	}
	for _, token := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(css, -1) {
		if !strings.Contains(css, token[1]+":") {
			t.Errorf("%s is not defined", token[1])
		}
	}
}

// TestHeightsExist holds the size classes that views ask for against the style
// sheet.
func TestHeightsExist(t *testing.T) {
	page := renderHTML(t, pageReport(), Options{ChartLibrary: tinyLibrary}) + renderHTML(t, richReport(), Options{ChartLibrary: tinyLibrary})
	for _, m := range regexp.MustCompile(`class="chart (h-[a-z0-9]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(templates.CSS(), "."+m[1]+" {") {
			t.Errorf("no height %s", m[1])
		}
	}
	for _, n := range heatRows {
		if !regexp.MustCompile(`\.h-r` + regexp.QuoteMeta(itoa(n)) + ` \{`).MatchString(templates.CSS()) {
			t.Errorf("no height for %d rows", n)
		}
	}
}

func itoa(n int) string { return FormatCount(int64(n)) }

func TestNoRegistryInLock(t *testing.T) {
	raw, err := os.ReadFile("../templates/package-lock.json")
	must(t, err)
	if bytes.Contains(raw, []byte(`"resolved"`)) || bytes.Contains(raw, []byte("http")) && bytes.Contains(raw, []byte("registry")) {
		t.Error("the lock names a registry; see templates/.npmrc")
	}
}
