package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/vreport/vreport/templates"
)

// HTML writes a report as one page that needs nothing else: no network, no
// other file. The same report and options give the same bytes.
//
// Whatever stands in the data reaches the page through html/template's escaping,
// through the same of the rows of tables (rows.go) or inside a JSON island, never
// as markup or script; the page's content security policy allows its own scripts
// by their hashes and nothing else.
func (p *Printer) HTML(w io.Writer) error {
	page, err := p.page()
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if err := pageTemplates().ExecuteTemplate(w, "report.gohtml", page); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// pageTemplates are read when the first page is made, or by Ahead.
var pageTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(templates.FS, "report.gohtml", "partials.gohtml", "sections/*.gohtml"))
})

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
	plain  []byte      // what runs
	hash   string      // of it, for the policy
	packed template.JS // "" where it stands plain in the page
}

func (o *Options) hasLibrary() bool { return len(o.StockECharts)+len(o.ChartLibrary) > 0 }

func chartLibrary(opt Options) (library, error) {
	if len(opt.StockECharts) > 0 {
		if err := inlineable(opt.StockECharts); err != nil {
			return library{}, fmt.Errorf("the chart library given with --echarts-js %w", err)
		}
		return library{plain: opt.StockECharts, hash: hash(opt.StockECharts)}, nil
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
	return library{plain: plain, hash: hash(plain), packed: quotedBase64(opt.ChartLibrary)}, nil
}

// chartLibrary is what Ahead made, or makes it now.
func (o *Options) chartLibrary() (library, error) {
	if o.library != nil {
		return o.library()
	}
	return chartLibrary(*o)
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

// page makes the parts of the page. The chart library, the sections and the
// report's JSON wait for nothing of each other.
func (p *Printer) page() (*page, error) {
	out := &page{Lang: "en", Title: p.rep.Title, Version: p.opt.Version, Command: p.opt.Command,
		CSS: template.CSS(templates.CSS()), App: template.JS(templates.Script())}
	c := newPageContext(p.rep, p.opt.hasLibrary())
	var lib library
	err := together(
		func() (err error) { lib, err = p.opt.chartLibrary(); return err },
		func() error { return c.layOut(out) },
		func() error {
			raw, err := p.data()
			if err != nil {
				return fmt.Errorf("data: %w", err)
			}
			out.Data = template.JS(raw)
			return nil
		},
	)
	if err != nil {
		return nil, err
	}
	switch {
	case lib.packed != "":
		out.Packed = lib.packed
	case lib.present():
		out.Library = template.JS(lib.plain)
	case c.wanted > 0:
		out.ChartNote = "Charts are left out: this build of vreport has no chart library inside, so tables stand in their place. " +
			"Build it with make build, or pass --echarts-js with the path of an echarts.min.js."
	}
	if lib.present() {
		out.Notices = templates.Notices()
	}
	out.CSP = policy(lib)
	return out, nil
}

// layOut fills in the sections, and the islands of what they draw.
func (c *pageContext) layOut(p *page) (err error) {
	if p.Sections, err = c.sections(); err != nil {
		return err
	}
	if p.Charts, err = packedIsland(c.drawings); err != nil {
		return fmt.Errorf("chart options: %w", err)
	}
	if len(c.explorers) > 0 {
		if p.Explore, err = island(c.explorers); err != nil {
			return fmt.Errorf("histograms: %w", err)
		}
	}
	return nil
}

// together calls functions side by side and returns the error of the first that
// has one.
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// policy is the page's content security policy. Styles in attributes are
// allowed because the chart library positions its tooltips with them; they
// cannot load anything, since nothing else is allowed.
func policy(lib library) string {
	scripts := []string{hash([]byte(templates.Script()))}
	if lib.present() {
		scripts = append(scripts, lib.hash)
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

// packLevel takes a quarter of the time of the best one and a hundredth more room.
const packLevel = 7

// packedIsland is v as JSON as gzip in base64, for what only the page's own
// script reads: options of charts repeat themselves, and pack to a fifth.
func packedIsland(v any) (template.JS, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, packLevel)
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
