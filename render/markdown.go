package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// maxMarkdown is the size a report in Markdown stays under, in bytes: GitHub
// refuses comments beyond 65,536 characters.
const maxMarkdown = 60_000

// markdownMarker is an invisible first line by which a CI job finds its own
// comment again, to replace it instead of adding another.
const markdownMarker = "<!-- vreport -->"

// maxSkipped bounds the sections that are named as missing.
const maxSkipped = 20

// mdLimits are how much detail a Markdown report holds; 0 leaves a part out.
type mdLimits struct {
	points, reasons, runs, sweeps, datasets, slices, servers, findings, inputs int
	cell, text                                                                 int // characters of a cell, of a sentence
	command                                                                    int
}

// mdLadder goes down as long as the text is too large. The verdict, the title
// and the first points are on every rung.
var mdLadder = []mdLimits{
	{points: 20, reasons: 20, runs: 60, sweeps: 12, datasets: 6, slices: 12, servers: 20, findings: 30, inputs: 100, cell: 80, text: 500, command: 4000},
	{points: 20, reasons: 20, runs: 40, sweeps: 8, datasets: 4, slices: 8, servers: 12, findings: 20, inputs: 30, cell: 60, text: 400, command: 4000},
	{points: 12, reasons: 12, runs: 24, sweeps: 4, datasets: 3, slices: 5, servers: 8, findings: 10, inputs: 10, cell: 48, text: 300, command: 2000},
	{points: 8, reasons: 8, runs: 12, sweeps: 2, datasets: 2, slices: 3, servers: 4, findings: 5, cell: 40, text: 240, command: 1000},
	{points: 5, reasons: 5, cell: 40, text: 200, command: 500},
}

// Markdown writes a report as one comment of a pull request: the verdict and
// the summary first, then tables, in GitHub's Markdown and always smaller than
// 60,000 bytes. What the size leaves no room for is counted, and stands in the
// HTML and the JSON. Nothing in the data becomes markup, a link or a mention.
func (p *Printer) Markdown(w io.Writer) error {
	var text string
	for _, lim := range mdLadder {
		text = markdownAt(p.rep, p.opt, lim)
		if len(text) < maxMarkdown {
			break
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

func markdownAt(rep *analyze.Report, opt Options, lim mdLimits) string {
	m := &mdWriter{lim: lim, marks: map[analyze.Quality]bool{}}
	m.line(markdownMarker)
	compared := analyze.Value[analyze.Comparison](rep)
	if compared != nil {
		m.compareHead(compared, rep.Gate.Result)
	}
	m.head(rep)
	if compared != nil {
		m.comparison(compared)
	}
	if compared != nil {
		m.fold("Both sides in full", func() { m.sections(rep) })
	} else {
		m.sections(rep)
	}
	m.foot(rep, opt)
	return m.b.String()
}

// sections writes what was found, section by section.
func (m *mdWriter) sections(rep *analyze.Report) {
	if v := analyze.Value[analyze.Incidents](rep); v != nil {
		m.incidents(v)
	}
	if v := analyze.Value[analyze.Diagnoses](rep); v != nil {
		m.diagnosis(v)
	}
	if v := analyze.Value[analyze.Runs](rep); v != nil {
		m.runs(v)
	}
	if v := analyze.Value[analyze.Sweeps](rep); v != nil {
		m.sweeps(v)
	}
	if v := analyze.Value[analyze.Ceilings](rep); v != nil {
		m.ceilings(v)
	}
	if v := analyze.Value[analyze.AdviceList](rep); v != nil {
		m.advice(v)
	}
	if v := analyze.Value[analyze.Cost](rep); v != nil {
		m.cost(v)
	}
	if v := analyze.Value[analyze.Slices](rep); v != nil {
		m.slices(v)
	}
	if v := analyze.Value[analyze.Servers](rep); v != nil {
		m.servers(v)
	}
	m.legend()
	if v := analyze.Value[analyze.QualityFindings](rep); v != nil {
		m.quality(v)
	}
	if v := analyze.Value[analyze.Inputs](rep); v != nil {
		m.inputs(v)
	}
}

// An mdWriter builds one rung of the ladder.
type mdWriter struct {
	b     strings.Builder
	lim   mdLimits
	marks map[analyze.Quality]bool // quality marks that were used
}

func (m *mdWriter) line(s string) { m.b.WriteString(s + "\n") }

// cell escapes data for a table, text for a sentence.
func (m *mdWriter) cell(s string) string { return escapeMarkdown(clip(s, m.lim.cell)) }
func (m *mdWriter) text(s string) string { return escapeMarkdown(clip(s, m.lim.text)) }

func (m *mdWriter) heading(s string) { m.line("\n### " + s + "\n") }

// more says how many of a list were left out.
func (m *mdWriter) more(total, shown int, what string) {
	if total > shown {
		m.line(fmt.Sprintf("\n_%s more %s in the full report._", FormatCount(int64(total-shown)), what))
	}
}

var verdictSign = map[analyze.GateResult]string{
	analyze.GatePass: "✅", analyze.GateFail: "❌", analyze.GateUndecided: "⚠️",
}

func (m *mdWriter) head(rep *analyze.Report) {
	s := analyze.Value[analyze.Summary](rep)
	title := rep.Title
	if title == "" && s != nil {
		title = s.Title
	}
	if title == "" {
		title = "vreport"
	}
	compared := analyze.Value[analyze.Comparison](rep) != nil // whose verdict stands above
	if !compared {
		m.line("## " + m.text(title) + "\n")
	}
	if sign, ok := verdictSign[rep.Gate.Result]; ok {
		m.line(fmt.Sprintf("%s **Gate: %s**\n", sign, rep.Gate.Result))
		m.bullets(rep.Gate.Reasons, m.lim.reasons, "reasons")
	}
	if s == nil {
		return
	}
	headline := "**" + m.text(s.Title) + "**"
	if s.Badge != "" {
		headline += " · " + m.text(s.Badge)
	}
	if s.Title != "" && !compared {
		m.line(headline + "\n")
	}
	if c := analyze.Value[analyze.Comparison](rep); c != nil {
		// The cautions and figures stand above.
		m.bullets(slices.Concat(c.Points, c.Tradeoffs), m.lim.points, "points")
		return
	}
	m.bullets(s.Points, m.lim.points, "points")
	m.cards(s.Cards)
}

func (m *mdWriter) bullets(list []string, limit int, what string) {
	for _, p := range list[:min(len(list), limit)] {
		m.line("- " + m.text(p))
	}
	m.more(len(list), limit, what)
	if len(list) > 0 {
		m.line("")
	}
}

// cards sets the headline figures into one line. What is said of all of them
// stands behind the last one only.
func (m *mdWriter) cards(cards []analyze.Card) {
	const most = 8
	var shown []analyze.Card
	for _, c := range cards {
		if c.Value.OK && len(shown) < most {
			shown = append(shown, c)
		}
	}
	if len(shown) == 0 {
		return
	}
	n, sub := shown[0].N, shown[0].Sub
	sameN, sameSub := n.OK, sub != ""
	for _, c := range shown {
		sameN, sameSub = sameN && c.N == n, sameSub && c.Sub == sub
	}
	parts := make([]string, len(shown))
	for i, c := range shown {
		last := i == len(shown)-1
		var notes []string
		if c.SLO != "" {
			notes = append(notes, m.cell(c.SLO))
		}
		if c.Sub != "" && !sameSub {
			notes = append(notes, m.cell(c.Sub))
		}
		if c.N.OK && !sameN {
			notes = append(notes, "n = "+FormatCount(c.N.V))
		}
		parts[i] = "**" + m.cell(c.Label) + "** " + FormatFigure(c.Metric, c.Unit, c.Value)
		if len(notes) > 0 {
			parts[i] += " (" + strings.Join(notes, ", ") + ")"
		}
		if last && sameSub {
			parts[i] += " – " + m.text(sub)
		}
		if last && sameN {
			parts[i] += ", n = " + FormatCount(n.V)
		}
	}
	m.line(strings.Join(parts, " · ") + "\n")
}

// legend explains the marks behind quantiles, those that were used.
func (m *mdWriter) legend() {
	var parts []string
	for _, q := range []analyze.Quality{analyze.QualityWeak, analyze.QualityUnsupported, analyze.QualityAutocorrelated, analyze.QualityCoarse} {
		if m.marks[q] {
			parts = append(parts, QualityMark(q)+" "+QualityText(q))
		}
	}
	if len(parts) > 0 {
		m.line("\n<sub>" + strings.Join(parts, " · ") + "</sub>")
	}
}

func (m *mdWriter) quality(q *analyze.QualityFindings) {
	if len(q.Findings) == 0 || m.lim.findings == 0 {
		return
	}
	m.heading("Data quality")
	for _, f := range q.Findings[:min(len(q.Findings), m.lim.findings)] {
		s := m.text(f.Message)
		if f.Subject != "" && !strings.Contains(f.Message, f.Subject) {
			s = m.cell(f.Subject) + ": " + s
		}
		m.line("- " + s + " (" + m.cell(f.ID) + ")")
	}
	m.more(len(q.Findings), m.lim.findings, "findings")
}

func (m *mdWriter) foot(rep *analyze.Report, opt Options) {
	var skipped []string
	for _, r := range rep.Results {
		if r.Value == nil && r.Skipped != "" && r.Section != nil {
			skipped = append(skipped, m.cell(r.Section.Title)+": "+m.text(r.Skipped))
		}
	}
	if len(skipped) > 0 && m.lim.runs > 0 {
		skipped = skipped[:min(len(skipped), maxSkipped)]
		m.line("\n<sub>Not in this report. " + strings.Join(skipped, "; ") + ".</sub>")
	}
	if opt.Command != "" {
		m.line("\n" + mdCode(commandLine(opt.Command, m.lim.command)))
	}
	if opt.Version != "" {
		m.line("\n<sub>vreport " + m.cell(opt.Version) + "</sub>")
	}
}

// commandLine keeps a command as it is but for what cannot stand in one line.
func commandLine(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		if n--; n < 0 {
			return b.String() + " …"
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mdCode sets a command in a block that can be copied. Where it holds what
// could end a fence or be taken for a tag or a mention by a reader that does
// not know fences, it stands in HTML with everything escaped.
func mdCode(s string) string {
	risky := strings.ContainsAny(s, "`@")
	for i, r := range s {
		risky = risky || r == '<' && i+1 < len(s) && !strings.ContainsRune("0123456789= ", rune(s[i+1]))
	}
	if !risky {
		return "```sh\n" + s + "\n```"
	}
	return "<pre>" + strings.NewReplacer("|", "&#124;", "&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "&#64;", "`", "&#96;").Replace(s) + "</pre>"
}

// A mdTable is a table whose columns without any value are left out.
type mdTable struct {
	head []string
	text map[int]bool // left-aligned columns
	rows [][]string
}

func (t *mdTable) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *mdTable) write(m *mdWriter) {
	var keep []int
	for i := range t.head {
		for _, r := range t.rows {
			if r[i] != Missing && r[i] != "" {
				keep = append(keep, i)
				break
			}
		}
	}
	put := func(cell func(i int) string) {
		for _, i := range keep {
			m.b.WriteString("| " + cell(i) + " ")
		}
		m.b.WriteString("|\n")
	}
	put(func(i int) string { return t.head[i] })
	put(func(i int) string {
		if t.text[i] {
			return ":--"
		}
		return "--:"
	})
	for _, r := range t.rows {
		put(func(i int) string {
			if r[i] == "" {
				return Missing
			}
			return r[i]
		})
	}
}

// quantile formats a quantile of one metric with its quality mark.
func (m *mdWriter) quantile(ds analyze.Dists, k serving.MetricKey, p float64) string {
	d := ds.Of(k)
	if d == nil {
		return Missing
	}
	q, ok := d.Q(p)
	if !ok {
		return Missing
	}
	s := FormatQuantile(unitOf(k), q)
	if mark := QualityMark(q.Quality); mark != "" && s != Missing {
		m.marks[q.Quality] = true
		s += " " + mark
	}
	return s
}
