package render

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The axes of the frontier are chosen without a mouse: Tab goes from one pair of axes
// to the next, Enter and the space bar choose it, and the charts follow.
func TestAxesByKeyboard(t *testing.T) {
	ctx, lib := browser(t)
	v := open(t, ctx, writePage(t, pageReport(), Options{ChartLibrary: lib}), 1280, 900, "light")
	v.draw(t)
	const buttons = `[...document.querySelectorAll('#sweeps .seg button')]`
	const state = `(() => { const b = document.activeElement, g = b.dataset.group; return [b.dataset.variant, b.getAttribute('aria-pressed'),
  [...document.querySelectorAll('.seg button[data-group="' + g + '"][aria-pressed="true"]')].length, getComputedStyle(b).outlineStyle !== 'none'].join(' '); })()`
	if n := eval[int](t, v, buttons+`.length`); n < 2 {
		t.Fatalf("%d pairs of axes to choose from", n)
	}
	eval[int](t, v, buttons+`[0].focus(), 0`)
	before := ""
	for _, step := range []struct {
		button string // its number
		tab    chromedp.Action[chromedp.Void]
		choose string
	}{
		{"1", chromedp.KeyEvent(kb.Tab), kb.Enter},
		{"0", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)), " "},
	} {
		want := eval[string](t, v, buttons+`[`+step.button+`].dataset.variant`)
		must(t, chromedp.Do(v.ctx, step.tab))
		if got := eval[string](t, v, state); !strings.HasPrefix(got, want+" false ") || !strings.HasSuffix(got, " true") {
			t.Errorf("after Tab: %s, want %s, not yet chosen, with a visible focus", got, want)
		}
		must(t, chromedp.Do(v.ctx, chromedp.KeyEvent(step.choose)))
		if got := eval[string](t, v, state); got != want+" true 1 true" {
			t.Errorf("after %q: %s, want %s chosen alone", step.choose, got, want)
		}
		axis := eval[string](t, v, `(() => { const f = document.activeElement.closest('figure'), c = window.vreport.instances().find((c) => f && f.contains(c.getDom())); return c ? c.getOption().xAxis[0].name : ''; })()`)
		if axis == "" || axis == before {
			t.Errorf("the axis is %q after %s was chosen, and was %q before", axis, want, before)
		}
		before = axis
	}
	v.quiet(t)
}
