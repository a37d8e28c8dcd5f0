package render

import (
	"fmt"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// boundChart draws what each user got over the batch, below what the bandwidth
// allows; nil without a curve or with fewer than two levels.
func boundChart(c *analyze.Ceiling) (*chart, error) {
	if c.Bandwidth == nil || len(c.Bandwidth.Curve) < 2 {
		return nil, nil
	}
	ch := &chart{Names: []string{"measured", "bandwidth bound"}, Narrow: object{"grid": []object{{"left": 54, "right": 14}}}}
	var measured, bound []object
	for _, l := range c.Levels {
		if !l.Batch.OK || !l.TPOT.OK || l.TPOT.V <= 0 {
			continue
		}
		speed := 1 / l.TPOT.V
		measured = append(measured, object{"value": []any{sig4(l.Batch.V), sig4(speed), l.Label}, "tip": len(ch.Tips)})
		ch.Tips = append(ch.Tips, chartTip{"level " + l.Label, [][2]string{
			{"requests decoding", FormatNumber(l.Batch.V)}, {"output per user", FormatRate(speed, "tok")},
			{"bound", FormatRateOpt(l.Bound, "tok")}, {"MBU", FormatShareOpt(l.MBU)}}})
	}
	if len(measured) < 2 {
		return nil, nil
	}
	for _, p := range c.Bandwidth.Curve {
		bound = append(bound, object{"value": []any{sig4(p.Users), sig4(p.PerUser), ""}, "tip": len(ch.Tips)})
		ch.Tips = append(ch.Tips, chartTip{"bandwidth bound", [][2]string{{"requests decoding", FormatNumber(p.Users)}, {"output per user, at most", FormatRate(p.PerUser, "tok")}}})
	}
	x := axis{name: "Requests decoding at once, logarithmic", kind: "log", base: 2, format: "compact", min: 1}
	y := axis{name: "Output speed a user sees (1 ÷ TPOT p50, tok/s)", kind: "value", format: "compact", min: 0}
	g := charts.NewLine()
	g.SetGlobalOptions(charts.WithXAxisOpts(x.x()), charts.WithYAxisOpts(y.y()), tooltip("item", "tip:point"), charts.WithGridOpts(grid(62, 30, 40, 48)))
	g.AddSeries(seriesName(0), nil, withData(measured),
		charts.WithLineStyleOpts(opts.LineStyle{Color: seriesColor(0), Width: 2}), charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(0)}),
		charts.WithLineChartOpts(opts.LineChart{Symbol: "circle", SymbolSize: 9}))
	g.AddSeries(seriesName(1), nil, withData(bound),
		charts.WithLineStyleOpts(opts.LineStyle{Color: inkSLO, Width: 1.5, Type: "dashed"}), charts.WithItemStyleOpts(opts.ItemStyle{Color: inkSLO}),
		charts.WithLineChartOpts(opts.LineChart{Symbol: "none"}))
	opt, err := build(g, object{"xAxis": []object{x.patch()}, "yAxis": []object{y.yPatch(62)},
		"series": []object{{"z": 3, "showAllSymbol": true, "label": levelLabel(), "labelLayout": object{"hideOverlap": true}}, {"z": 2}},
		"aria":   aria(fmt.Sprintf("%s against the batch for %d load levels, with the bandwidth bound.", y.name, len(measured)))})
	if err != nil {
		return nil, err
	}
	ch.Option = opt
	return ch, nil
}

// boundFigure is the chart with its data.
func (p *pageContext) boundFigure(id string, c *analyze.Ceiling) (*Figure, error) {
	ch, err := boundChart(c)
	if err != nil || ch == nil {
		return nil, err
	}
	t := &Table{ID: id + "-bound-t", Caption: "The bound", Head: []Head{numCol("requests decoding", "", ""), numCol("per user, at most", "tok/s", "tok/s"), numCol("in total, at most", "tok/s", "tok/s")}}
	for _, b := range c.Bandwidth.Curve {
		t.Rows = append(t.Rows, Row{Cells: []Cell{rateCell(serving.Some(b.Users)), rateCell(serving.Some(b.PerUser)), rateCell(serving.Some(b.Output))}})
	}
	return p.draw(Figure{ID: id + "-bound", Title: "Measured against the bandwidth bound", Height: "m", Tables: []Panel{{Table: t}},
		Caption: "The dashed line is the most that reading weights and KV cache allows each user at the context above; it ends where computing takes longer.",
		Legend:  &Legend{Label: "Signs", Items: []LegendItem{{Label: "measured", Swatch: "disc"}}}}, ch), nil
}
