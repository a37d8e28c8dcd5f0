package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

type wireSweep struct {
	ID        string            `json:"id"`
	Label     string            `json:"label,omitempty"`
	By        map[string]string `json:"by"`
	HeldEqual map[string]string `json:"held_equal"`
	Differed  []wireDiffered    `json:"differed,omitempty"`
	Load      string            `json:"load"`
	XName     string            `json:"x_name,omitempty"`
	Points    []wirePoint       `json:"points"`
	Pareto    *wirePareto       `json:"pareto,omitempty"`
	Frontiers []wirePareto      `json:"frontiers,omitempty"` // on the other axes
	Knees     []wireKnee        `json:"knees,omitempty"`
	Regions   []wireRegion      `json:"regions,omitempty"`
	Capacity  *wireSLOCapacity  `json:"slo_capacity,omitempty"`
	Attained  []wireAttained    `json:"capacity_by_attainment,omitempty"`
	Peak      *wireTurnDown     `json:"goodput_peak,omitempty"`
	Target    *wireTarget       `json:"target,omitempty"`
	Trade     string            `json:"trade,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
}

type wireDiffered struct {
	Key        string   `json:"key"`
	Values     []string `json:"values"`
	Incidental bool     `json:"incidental,omitempty"`
}

type wirePoint struct {
	Run          string     `json:"run"`
	Runs         []string   `json:"runs,omitempty"`
	X            *float64   `json:"x,omitempty"`
	XUnlimited   bool       `json:"x_unlimited,omitempty"`
	Unreached    bool       `json:"unreached,omitempty"`
	Users        *float64   `json:"users,omitempty"`
	Repeats      int        `json:"repeats"`
	Rate         *float64   `json:"requests_per_s,omitempty"`
	Output       *float64   `json:"output_tokens_per_s,omitempty"`
	OutputPerGPU *float64   `json:"output_tokens_per_s_per_gpu,omitempty"`
	PerUser      *float64   `json:"output_tokens_per_s_per_user,omitempty"`
	TTFT99       *float64   `json:"ttft_p99,omitempty"`
	TPOT50       *float64   `json:"tpot_p50,omitempty"`
	E2E50        *float64   `json:"e2e_p50,omitempty"`
	Goodput      *float64   `json:"goodput_requests_per_s,omitempty"`
	Attainment   *float64   `json:"goodput_share,omitempty"`
	Interval     []*float64 `json:"goodput_share_interval,omitempty"`
	Dominance    string     `json:"dominance,omitempty"`
	MeetsSLO     *bool      `json:"meets_slo,omitempty"`
	Within       *bool      `json:"within_slo,omitempty"`
}

type wirePareto struct {
	Axes       []string           `json:"axes"`
	Front      []string           `json:"front"`
	Membership map[string]float64 `json:"membership,omitempty"`
	Basis      string             `json:"membership_basis,omitempty"`
}

type wireKnee struct {
	Method     string             `json:"method"`
	X          *float64           `json:"x,omitempty"`
	Unit       string             `json:"unit,omitempty"`
	Level      *float64           `json:"level,omitempty"`
	Confidence string             `json:"confidence,omitempty"`
	Text       string             `json:"text,omitempty"`
	Basis      string             `json:"basis,omitempty"`
	Shares     map[string]float64 `json:"resamples,omitempty"`
}

type wireRegion struct {
	Name      string   `json:"name"`
	From      *float64 `json:"from,omitempty"`
	To        *float64 `json:"to,omitempty"`
	Text      string   `json:"text,omitempty"`
	StoppedBy string   `json:"stopped_by,omitempty"`
	Evidence  []string `json:"evidence,omitempty"`
	Missing   []string `json:"missing,omitempty"`
}

type wireSLOCapacity struct {
	Pass       *float64   `json:"pass,omitempty"`
	Fail       *float64   `json:"fail,omitempty"`
	Estimate   *float64   `json:"estimate,omitempty"`
	Decided    bool       `json:"decided"`
	SurePass   *float64   `json:"sure_pass,omitempty"`
	SureFail   *float64   `json:"sure_fail,omitempty"`
	Reentry    []*float64 `json:"reentry,omitempty"`
	Objectives []string   `json:"objectives,omitempty"`
	Rate       *float64   `json:"requests_per_s,omitempty"`
	Run        string     `json:"run,omitempty"`
	Text       string     `json:"text,omitempty"`
}

type wireAttained struct {
	Share   float64  `json:"share"`
	Pass    *float64 `json:"pass,omitempty"`
	Fail    *float64 `json:"fail,omitempty"`
	Decided bool     `json:"decided"`
}

type wireTurnDown struct {
	X         *float64 `json:"x,omitempty"`
	PerSecond *float64 `json:"requests_per_s,omitempty"`
	Reached   bool     `json:"reached"`
	Text      string   `json:"text,omitempty"`
}

type wireTarget struct {
	Rate      *float64 `json:"rate,omitempty"`
	Capacity  *float64 `json:"capacity_requests_per_s,omitempty"`
	Instances *int64   `json:"instances,omitempty"`
	Headroom  *float64 `json:"headroom,omitempty"`
	Text      string   `json:"text,omitempty"`
}

type wireGrid struct {
	Label string         `json:"label,omitempty"`
	Rows  string         `json:"rows"`
	Cols  string         `json:"columns"`
	Limit string         `json:"latency_limit_ms,omitempty"`
	Cells []wireGridCell `json:"cells"`
	Best  *wireGridCell  `json:"best,omitempty"`
}

type wireGridCell struct {
	Row  string   `json:"row"`
	Col  string   `json:"column"`
	Run  string   `json:"run"`
	Rate *float64 `json:"requests_per_s,omitempty"`
	E2E  *float64 `json:"e2e_p99,omitempty"`
}

// newWireSweeps lists every sweep, each followed by its slices.
func newWireSweeps(v *analyze.Sweeps) []wireSweep {
	out := []wireSweep{}
	for _, s := range v.Sweeps {
		out = append(out, newWireSweep(s))
		for i, x := range s.Slices {
			w := newWireSweep(x)
			w.ID = s.ID + "-slice-" + FormatCount(int64(i+1))
			out = append(out, w)
		}
	}
	return out
}

func newWireSweep(s *analyze.Sweep) wireSweep {
	w := wireSweep{
		ID: s.ID, Label: s.Label, By: map[string]string{}, HeldEqual: wireSettings(s.HeldEqual),
		Load: string(s.Mode), XName: s.XName, Points: []wirePoint{}, Trade: s.Trade, Notes: s.Notes,
	}
	if w.Load == "" {
		w.Load = string(serving.UnknownLoad)
	}
	for _, t := range s.By {
		w.By[t.Dim] = t.Value
	}
	for _, d := range s.Differed {
		w.Differed = append(w.Differed, wireDiffered(d))
	}
	for _, p := range s.Points {
		w.Points = append(w.Points, newWirePoint(p, s.PerGPU))
	}
	for i, f := range s.Frontiers {
		p := newWirePareto(s, f)
		if i == 0 && f.Key == analyze.UserAxis {
			if len(p.Front) > 0 {
				w.Pareto = &p
			}
			continue
		}
		w.Frontiers = append(w.Frontiers, p)
	}
	for _, k := range s.Knees {
		w.Knees = append(w.Knees, wireKnee{k.Method, wireNumber(k.X), k.Unit, wireNumber(k.Level), k.Confidence, k.Text, k.Basis, k.Shares})
	}
	for _, r := range s.Regions {
		w.Regions = append(w.Regions, wireRegion{r.Name, wireFloat(r.From), wireFloat(r.To), r.Text, r.StoppedBy, r.Evidence, r.Missing})
	}
	w.addCapacity(s)
	return w
}

// addCapacity adds what a sweep says of goals.
func (w *wireSweep) addCapacity(s *analyze.Sweep) {
	if c := s.Capacity; c != nil {
		w.Capacity = &wireSLOCapacity{Pass: wireNumber(c.Pass), Fail: wireNumber(c.Fail), Estimate: wireNumber(c.Estimate), Decided: c.Decided,
			SurePass: wireNumber(c.SurePass), SureFail: wireNumber(c.SureFail), Objectives: c.Objectives, Text: c.Text}
		for _, x := range c.Reentry {
			w.Capacity.Reentry = append(w.Capacity.Reentry, wireFloat(x))
		}
		if c.At != nil {
			w.Capacity.Rate, w.Capacity.Run = wireNumber(c.At.Rate), c.At.Runs[0].Run.ID
		}
	}
	for _, a := range s.Attained {
		w.Attained = append(w.Attained, wireAttained{a.Share, wireNumber(a.Pass), wireNumber(a.Fail), a.Decided})
	}
	if t := s.TurnDown; t != nil {
		w.Peak = &wireTurnDown{wireFloat(t.X), wireFloat(t.PerSecond), t.Reached, t.Text}
	}
	if t := s.Target; t != nil {
		w.Target = &wireTarget{wireFloat(t.Rate), wireNumber(t.Capacity), t.Instances.Ptr(), wireNumber(t.Headroom), t.Text}
	}
}

func newWirePareto(s *analyze.Sweep, f analyze.Frontier) wirePareto {
	out := wirePareto{Axes: []string{"output_tokens_per_s", f.Key}, Front: []string{}, Basis: f.Basis}
	if s.PerGPU {
		out.Axes[0] = "output_tokens_per_s_per_gpu"
	}
	if f.Key == analyze.UserAxis {
		out.Axes[1] = "output_tokens_per_s_per_user"
	}
	for i, c := range f.Classes {
		for _, r := range s.Points[i].Runs {
			if c == "frontier" {
				out.Front = append(out.Front, r.Run.ID)
			}
			if f.Shares != nil && c != "" {
				if out.Membership == nil {
					out.Membership = map[string]float64{}
				}
				out.Membership[r.Run.ID] = f.Shares[i]
			}
		}
	}
	return out
}

func newWirePoint(p analyze.SweepPoint, perGPU bool) wirePoint {
	w := wirePoint{
		X: wireFloat(p.X), XUnlimited: p.XUnlimited, Unreached: !p.Reached, Users: wireNumber(p.Users), Repeats: len(p.Runs), Rate: wireNumber(p.Rate),
		PerUser: wireNumber(p.PerUser), TTFT99: wireMillis(p.TTFT99), TPOT50: wireMillis(p.TPOT50), E2E50: wireMillis(p.E2E50),
		Goodput: wireNumber(p.Goodput), Dominance: p.Dominance, MeetsSLO: p.MeetsSLO.Ptr(), Within: p.Within.Ptr(),
	}
	if g := p.Attainment; g != nil {
		w.Attainment = wireNumber(g.Share)
		if g.Lo.OK && g.Hi.OK {
			w.Interval = []*float64{wireNumber(g.Lo), wireNumber(g.Hi)}
		}
	}
	if perGPU {
		w.OutputPerGPU = wireNumber(p.OutputPerS)
	} else {
		w.Output = wireNumber(p.OutputPerS)
	}
	for i, r := range p.Runs {
		if i == 0 {
			w.Run = r.Run.ID
		}
		if len(p.Runs) > 1 {
			w.Runs = append(w.Runs, r.Run.ID)
		}
	}
	return w
}

func newWireGrid(g *analyze.Grid) wireGrid {
	w := wireGrid{Label: g.Label, Rows: g.YName, Cols: g.XName, Limit: g.Limit, Cells: []wireGridCell{}}
	for i, c := range g.Cells {
		cell := wireGridCell{g.Y[c.Y], g.X[c.X], c.Run.Run.ID, wireNumber(c.Rate), wireMillis(c.E2E)}
		w.Cells = append(w.Cells, cell)
		if i == g.Best {
			w.Best = &cell
		}
	}
	return w
}
