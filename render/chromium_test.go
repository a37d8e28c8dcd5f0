package render

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/templates"
)

// browser starts Chromium, or skips. With VREPORT_REQUIRE_CHROMIUM=1, as CI has
// it, a missing browser fails, and with VREPORT_REQUIRE_BUNDLE=1 a missing chart
// library.
func browser(t *testing.T) (context.Context, []byte) {
	t.Helper()
	missing := func(what, required string) {
		t.Helper()
		if os.Getenv(required) == "1" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		missing("no chromium in PATH", "VREPORT_REQUIRE_CHROMIUM")
	}
	lib, ok := templates.ChartLibrary()
	if !ok {
		missing("no chart library: run npm ci && npm run build in templates", "VREPORT_REQUIRE_BUNDLE")
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)...)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	return ctx, lib
}

// A visit is one page in one tab, with what it said and asked for.
type visit struct {
	ctx      context.Context
	mu       sync.Mutex
	console  []string
	requests []string
}

// open loads a page at a size and in a theme of the system.
func open(t *testing.T, ctx context.Context, file string, width, height int64, scheme string) *visit {
	t.Helper()
	tab, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	v := &visit{ctx: tab}
	if err := chromedp.Listen(tab, v.hear); err != nil {
		t.Fatal(err)
	}
	must(t, chromedp.Do(tab, chromedp.EmulateViewport(width, height)))
	if _, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "file", Path: file}
	must(t, chromedp.Do(tab, chromedp.Navigate(u.String())))
	return v
}

func (v *visit) hear(ev any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range e.Args {
			words = append(words, a.Description+string(a.Value))
		}
		v.console = append(v.console, fmt.Sprintf("%s: %s", e.Type, strings.Join(words, " ")))
	case *runtime.EventExceptionThrown:
		v.console = append(v.console, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		v.console = append(v.console, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		v.requests = append(v.requests, e.Request.URL)
	}
}

func eval[T any](t *testing.T, v *visit, js string, opts ...chromedp.EvaluateOption) T {
	t.Helper()
	out, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](js, opts...))
	if err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	return out
}

// draw waits for the library and draws all charts, those below the fold too.
func (v *visit) draw(t *testing.T) int {
	t.Helper()
	if _, err := chromedp.Run(v.ctx, chromedp.Poll[bool](`document.documentElement.dataset.charts === "ready" && [...document.querySelectorAll("[data-explore]")].every((e) => e.dataset.state)`, chromedp.WithPollingTimeout(20*time.Second))); err != nil {
		t.Fatalf("the chart library did not start: %v; console: %v", err, v.console)
	}
	return eval[int](t, v, `window.vreport.mountAll()`)
}

func (v *visit) quiet(t *testing.T) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.console {
		t.Errorf("console: %s", c)
	}
	for i, r := range v.requests {
		if i > 0 || !strings.HasPrefix(r, "file:") {
			t.Errorf("request: %.120s", r)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writePage renders a report into a file.
func writePage(t *testing.T, rep *analyze.Report, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	must(t, NewPrinter(rep, opt).HTML(&b))
	file := filepath.Join(t.TempDir(), "report.html")
	must(t, os.WriteFile(file, b.Bytes(), 0o644))
	return file
}

// drawnCharts counts the charts that have ink on them: more than one colour
// where they are drawn.
const drawnCharts = `[...document.querySelectorAll('.chart[data-chart]')].filter((el) => {
  const c = el.querySelector('canvas');
  if (!c || !c.width) return false;
  const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
  let first = d[0], other = 0;
  for (let i = 0; i < d.length; i += 7) if (d[i] !== first) other++;
  return other > 200;
}).length`

// overflowing names the elements that make a page scroll sideways.
const overflowing = `document.documentElement.scrollWidth <= document.documentElement.clientWidth ? '' :
  [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.tbl, .toc, .seg, pre')).slice(0, 5).map((e) => e.outerHTML.slice(0, 120)).join(' | ') || 'the page'`

// silentTables names the tables that scroll sideways without a hint, and those
// whose first column is cut off on a narrow screen.
const silentTables = `[...document.querySelectorAll('.tbl')].filter((b) => b.clientWidth && (b.classList.contains('wide') !== b.scrollWidth > b.clientWidth + 1 ||
  innerWidth < 560 && [...b.querySelectorAll('tbody th')].some((th) => th.scrollWidth > th.clientWidth + 1))).map((b) => b.querySelector('table').id)`

func TestPageInChromium(t *testing.T) {
	ctx, lib := browser(t)
	file := writePage(t, pageReport(), Options{Version: "0.0.0", ChartLibrary: lib})
	for _, size := range []struct{ w, h int64 }{{1280, 900}, {390, 844}} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", size.w, scheme), func(t *testing.T) {
				v := open(t, ctx, file, size.w, size.h, scheme)
				n := v.draw(t)
				want := eval[int](t, v, `window.vreport.kit.specs.size`)
				if n != want || want < 6 {
					t.Errorf("%d charts mounted, want %d", n, want)
				}
				if got := eval[int](t, v, drawnCharts); got != want {
					t.Errorf("%d charts have ink on them, want %d", got, want)
				}
				if wide := eval[string](t, v, overflowing); wide != "" {
					t.Errorf("the page overflows sideways: %s", wide)
				}
				if got := eval[[]string](t, v, silentTables); len(got) > 0 {
					t.Errorf("tables that are wider than their place and do not say so, or cut the names of their rows: %v", got)
				}
				bg := eval[string](t, v, `getComputedStyle(document.body).backgroundColor`)
				if light := bg == "rgb(246, 247, 249)"; light != (scheme == "light") {
					t.Errorf("background %s in %s", bg, scheme)
				}
				if low := eval[[]string](t, v, contrast); len(low) > 0 {
					t.Errorf("text under 4.5:1: %v", low)
				}
				shoot(t, v, fmt.Sprintf("page-%d-%s", size.w, scheme))
				v.quiet(t)
			})
		}
	}
}

// contrast lists the texts whose contrast with their background is below AA.
const contrast = `(() => {
  const lum = (c) => { const f = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const rgb = (s) => (s.match(/[\d.]+/g) || []).map((v, i) => (s.startsWith('color(') && i < 3 ? 255 : 1) * Number(v));
  const back = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0.9) return c.slice(0, 3); } return [255, 255, 255]; };
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || e.closest('script, style, noscript, .vh, [hidden], .chart') || !e.getClientRects().length) continue;
    const a = lum(rgb(getComputedStyle(e).color).slice(0, 3)), b = lum(back(e));
    const r = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (r < 4.5) bad.add(e.tagName + '.' + e.className + ' ' + r.toFixed(2));
  }
  return [...bad].slice(0, 8);
})()`

// shoot keeps a picture of the whole page where VREPORT_SCREENSHOTS names a
// directory: the page is to be looked at, too.
func shoot(t *testing.T, v *visit, name string) {
	dir := os.Getenv("VREPORT_SCREENSHOTS")
	if dir == "" {
		return
	}
	type size struct{ W, H int64 }
	at := eval[size](t, v, `document.querySelectorAll('details').forEach((d) => { d.open = false; }), scrollTo(0, 0), {W: innerWidth, H: innerHeight}`)
	must(t, chromedp.Do(v.ctx, chromedp.Sleep(300*time.Millisecond)))
	must(t, chromedp.Do(v.ctx, chromedp.EmulateViewport(at.W, eval[int64](t, v, `document.body.scrollHeight`)), chromedp.Sleep(time.Second)))
	b, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644))
}

// TestHostilePageInChromium opens a page whose every label tries to become
// script or markup, points at every chart, and uses what can be used.
func TestHostilePageInChromium(t *testing.T) {
	ctx, lib := browser(t)
	file := writePage(t, richReport(), Options{ChartLibrary: lib})
	v := open(t, ctx, file, 1280, 900, "dark")
	n := v.draw(t)
	if want := eval[int](t, v, `window.vreport.kit.specs.size`); n != want || n < 4 {
		t.Errorf("%d charts mounted, want %d", n, want)
	}
	for i := range n {
		v.point(t, i)
	}
	eval[int](t, v, pressEverything)
	if got := eval[string](t, v, `String(window.__pwn)`); got != "undefined" {
		t.Errorf("a label ran: __pwn is %s", got)
	}
	if got := eval[int](t, v, `document.querySelectorAll('img, iframe, a[href^="javascript"], main script').length`); got != 0 {
		t.Errorf("labels became %d elements", got)
	}
	if wide := eval[string](t, v, overflowing); wide != "" {
		t.Errorf("the page overflows sideways: %s", wide)
	}
	shoot(t, v, "hostile-1280-dark")
	v.quiet(t)
}

// point moves the mouse over a chart, and demands that it says something.
func (v *visit) point(t *testing.T, i int) {
	t.Helper()
	type box struct{ X, Y, W, H float64 }
	b := eval[box](t, v, fmt.Sprintf(`(() => { const e = window.vreport.instances()[%d].getDom(); let p = e; for (; p; p = p.parentElement) if (p.hidden) p.hidden = false; e.scrollIntoView({block: 'center', behavior: 'instant'}); const r = e.getBoundingClientRect(); return {X: r.x, Y: r.y, W: r.width, H: r.height}; })()`, i))
	for _, f := range [][2]float64{{.3, .3}, {.5, .5}, {.55, .4}, {.7, .6}, {.85, .2}} {
		must(t, chromedp.Do(v.ctx, chromedp.MouseEvent(chromedp.MouseMoved, b.X+f[0]*b.W, b.Y+f[1]*b.H)))
	}
	// Tooltips of points are asked for by name, since the mouse may miss them.
	said := eval[string](t, v, fmt.Sprintf(`(() => { const c = window.vreport.instances()[%d], out = []; c.getOption().series.forEach((s, k) => { for (let d = 0; d < Math.min(6, s.data.length); d++) { c.dispatchAction({type: 'showTip', seriesIndex: k, dataIndex: d}); out.push(...[...c.getDom().children].slice(1).map((e) => e.textContent)); } }); return out.join(''); })()`, i))
	if strings.TrimSpace(said) == "" {
		t.Errorf("chart %d says nothing when pointed at", i)
	}
}

// pressEverything presses every button but those that save files, and sorts
// every table.
const pressEverything = `document.querySelectorAll('button:not([data-csv]):not([data-json])').forEach((b) => b.click()), 0`

func TestPageControls(t *testing.T) {
	ctx, lib := browser(t)
	file := writePage(t, pageReport(), Options{ChartLibrary: lib})
	v := open(t, ctx, file, 1280, 900, "light")
	v.draw(t)

	// A switch shows one panel of its group and redraws its charts.
	if got := eval[string](t, v, `(() => { document.querySelector('.seg button[data-group="latency-client"][data-variant="e2e"]').click(); return [...document.querySelectorAll('[data-panel][data-group="latency-client"]:not([hidden])')].map((e) => e.dataset.panel).join() + ' ' + location.hash; })()`); !regexpMatch(`^(e2e,?)+ #latency-client=e2e$`, got) {
		t.Errorf("after the switch to E2E: %s", got)
	}
	if got := eval[string](t, v, `window.vreport.instances()[0].getOption().xAxis[0].name`); !strings.HasPrefix(got, "E2E") {
		t.Errorf("the CDF's axis is %q after the switch", got)
	}
	// A table sorts by number, both ways.
	if got := eval[string](t, v, `(() => { const t = document.getElementById('latency-client-e2e'), b = t.tHead.rows[0].cells[1].querySelector('button'); const first = () => t.tBodies[0].rows[0].cells[0].textContent.split(' ')[0]; b.click(); const up = first(); b.click(); return up + ' ' + first(); })()`); got != "c1 c256" {
		t.Errorf("sorted up and down the first rows are %s", got)
	}
	// The theme button goes round, and the charts follow.
	if got := eval[string](t, v, `(() => { const b = document.getElementById('theme'), c = window.vreport.instances()[0], out = []; for (let i = 0; i < 3; i++) { b.click(); out.push(document.documentElement.dataset.theme + c.getOption().series[0].lineStyle.color); } return out.join(' '); })()`); got != "light#1d5fd6 dark#6ba5ff auto#1d5fd6" {
		t.Errorf("themes %s", got)
	}
	// A legend takes a series out.
	if got := eval[string](t, v, `(() => { const b = document.querySelector('.legend button[data-series="s0"]'); b.click(); return b.getAttribute('aria-pressed') + window.vreport.instances()[0].getOption().legend[0].selected.s0; })()`); got != "falsefalse" {
		t.Errorf("after the legend button: %s", got)
	}
	// A hash opens what it names.
	if got := eval[bool](t, v, `new Promise((done) => { const d = document.getElementById('run-7'); d.open = false; addEventListener('hashchange', () => setTimeout(() => done(d.open)), { once: true }); location.hash = '#run-7'; })`, chromedp.EvalAwaitPromise); !got {
		t.Error("#run-7 does not open its details")
	}
	// CSV has raw numbers, bounds in columns of their own, and no formula.
	v.csv(t)
	v.quiet(t)
}

// csv catches what the page would save.
func (v *visit) csv(t *testing.T) {
	t.Helper()
	got := eval[string](t, v, `new Promise((done) => { URL.createObjectURL = (b) => { b.text().then(done); return '#'; }; HTMLAnchorElement.prototype.click = () => {}; document.querySelector('[data-csv="latency-client-ttft"]').dispatchEvent(new MouseEvent('click', { bubbles: true })); })`, chromedp.EvalAwaitPromise)
	head, rest, _ := strings.Cut(got, "\r\n")
	if !strings.HasPrefix(head, `"Source","mean [ms]","p50 [ms]","p50 [ms] low","p50 [ms] high"`) {
		t.Errorf("CSV heading %s", head)
	}
	if !regexpMatch(`^"c1 \(1 concurrent\)","2[0-9.]+","2[0-9.]+","[0-9.]+","[0-9.]+"`, rest) {
		t.Errorf("CSV row %.200s", rest)
	}
}

func regexpMatch(re, s string) bool { return regexp.MustCompile(re).MatchString(s) }
