package render

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/templates"
)

// HTML writes a report as one page that needs nothing else: no network, no
// other file. The same report and options give the same bytes.
//
// Whatever stands in the data reaches the page either through html/template's
// escaping or inside a JSON island, never as markup or script; the page's
// content security policy allows its own scripts by their hashes and nothing
// else.
func HTML(w io.Writer, rep *analyze.Report, opt Options) error {
	p, err := newPage(rep, opt)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&b, "report.gohtml", p); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

var pageTemplates = template.Must(template.ParseFS(templates.FS, "report.gohtml", "partials.gohtml", "sections/*.gohtml"))

// A page is what report.gohtml lays out.
type page struct {
	Lang, Title, Version, Command string
	CSP                           string
	CSS                           template.CSS
	App                           template.JS // the page's own script
	Library                       template.JS // a stock chart library, as it is
	Packed                        template.JS // the chart library as a JSON string of gzip in base64
	Charts                        template.JS // chart options: JSON, packed as the library is
	Data                          template.JS // JSON
	Explore                       template.JS // JSON, where there is something to explore
	Sections                      []sectionView
	ChartNote                     string
	Notices                       string
}

// A sectionView is one section of the page.
type sectionView struct {
	Name, Title, Nav string
	Lead             string
	Bare             bool // brings its own heading
	Skipped          string
	Body             template.HTML // from this package's own template
	Notes            []string
}

// A library is the chart library in the form the page carries it.
type library struct {
	plain  []byte // what runs, and what the policy's hash is of
	packed []byte // gzip, nil where it stands plain in the page
}

func chartLibrary(opt Options) (library, error) {
	if len(opt.StockECharts) > 0 {
		if err := inlineable(opt.StockECharts); err != nil {
			return library{}, fmt.Errorf("the chart library given with --echarts-js %w", err)
		}
		return library{plain: opt.StockECharts}, nil
	}
	if len(opt.ChartLibrary) == 0 {
		return library{}, nil
	}
	plain, err := gunzip(opt.ChartLibrary)
	if err != nil {
		return library{}, fmt.Errorf("the chart library inside this program is damaged: %w", err)
	}
	if err := inlineable(plain); err != nil {
		return library{}, fmt.Errorf("the chart library inside this program %w", err)
	}
	return library{plain: plain, packed: opt.ChartLibrary}, nil
}

func (l library) present() bool { return len(l.plain) > 0 }

func gunzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// inlineable refuses a script whose text would end, or change, the element it
// stands in.
func inlineable(js []byte) error {
	low := bytes.ToLower(js)
	for _, bad := range []string{"</script", "<script", "<!--"} {
		if bytes.Contains(low, []byte(bad)) {
			return fmt.Errorf("holds %q, which cannot stand in a page; use a minified build without it", bad)
		}
	}
	if bytes.IndexByte(js, 0) >= 0 {
		return errors.New("is not a script: it holds a zero byte")
	}
	// A page's parser turns CR LF into LF, and the hash of the policy would
	// then be of another text.
	if bytes.IndexByte(js, '\r') >= 0 {
		return errors.New("has carriage returns; convert its line ends to LF")
	}
	return nil
}

func newPage(rep *analyze.Report, opt Options) (*page, error) {
	lib, err := chartLibrary(opt)
	if err != nil {
		return nil, err
	}
	p := &page{Lang: "en", Title: rep.Title, Version: opt.Version, Command: opt.Command,
		CSS: template.CSS(templates.CSS()), App: template.JS(templates.Script())}
	c := &pageContext{rep: rep, drawn: lib.present(), charts: map[string]*chart{}, explorers: map[string]*exploreSpec{}}
	if p.Sections, err = c.sections(); err != nil {
		return nil, err
	}
	if p.Charts, err = packedIsland(c.charts); err != nil {
		return nil, fmt.Errorf("chart options: %w", err)
	}
	if len(c.explorers) > 0 {
		if p.Explore, err = island(c.explorers); err != nil {
			return nil, fmt.Errorf("histograms: %w", err)
		}
	}
	if p.Data, err = dataIsland(rep, opt); err != nil {
		return nil, err
	}
	switch {
	case lib.packed != nil:
		p.Packed = quotedBase64(lib.packed)
	case lib.present():
		p.Library = template.JS(lib.plain)
	case c.wanted > 0:
		p.ChartNote = "Charts are left out: this build of vreport has no chart library inside, so tables stand in their place. " +
			"Build it with make build, or pass --echarts-js with the path of an echarts.min.js."
	}
	if lib.present() {
		p.Notices = templates.Notices()
	}
	p.CSP = policy(lib)
	return p, nil
}

// policy is the page's content security policy. Styles in attributes are
// allowed because the chart library positions its tooltips with them; they
// cannot load anything, since nothing else is allowed.
func policy(lib library) string {
	scripts := []string{hash([]byte(templates.Script()))}
	if lib.present() {
		scripts = append(scripts, hash(lib.plain))
	}
	return strings.Join([]string{
		"default-src 'none'",
		"script-src " + strings.Join(scripts, " "),
		"style-src " + hash([]byte(templates.CSS())),
		"style-src-attr 'unsafe-inline'",
		"img-src data: blob:",
		"base-uri 'none'",
		"form-action 'none'",
	}, "; ")
}

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
}

// island marshals a value for a script element of type application/json.
func island(v any) (template.JS, error) {
	raw, err := json.Marshal(v) // sorts maps, and escapes <, >, & and U+2028/9
	if err != nil {
		return "", err
	}
	return template.JS(raw), nil
}

// packedIsland is v as JSON as gzip in base64, for what only the page's own
// script reads: options of charts repeat themselves, and pack to a fifth.
func packedIsland(v any) (template.JS, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(raw); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return quotedBase64(packed.Bytes()), nil
}

func quotedBase64(b []byte) template.JS {
	return template.JS(`"` + base64.StdEncoding.EncodeToString(b) + `"`)
}

// dataIsland is the report's JSON, compact, with everything escaped that a page
// could take for markup.
func dataIsland(rep *analyze.Report, opt Options) (template.JS, error) {
	var raw, small, safe bytes.Buffer
	if err := JSON(&raw, rep, opt); err != nil {
		return "", fmt.Errorf("data: %w", err)
	}
	if err := json.Compact(&small, raw.Bytes()); err != nil {
		return "", fmt.Errorf("data: %w", err)
	}
	json.HTMLEscape(&safe, small.Bytes())
	return template.JS(safe.String()), nil
}
