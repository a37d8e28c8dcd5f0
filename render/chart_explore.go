package render

import (
	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// exploreFigure is a chart without data: the script brings them.
func (c *pageContext) exploreFigure(id string) (*Figure, error) {
	x := axis{name: "", kind: "value", format: "ms"}
	y := axis{kind: "value", format: "pct0", min: 0, max: 1}
	cdf := exploreLines("tip:cdf", x, y, "")
	bins := axis{name: "", kind: "category", labels: []string{}}
	shares := axis{kind: "value", format: "pct0", min: 0}
	hist := exploreLines("tip:bins", bins, shares, "middle")
	a, err := build(cdf, object{"xAxis": []object{x.patch()}, "yAxis": []object{quarters(y.patch())}, "series": []object{{"clip": true}, {"clip": true}},
		"tooltip": object{"axisPointer": object{"label": object{"show": true, "formatter": "fmt:msPointer"}}},
		"aria":    aria("Cumulative distribution of the selected requests and of all others.")})
	if err != nil {
		return nil, err
	}
	b, err := build(hist, object{"xAxis": []object{bins.patch()}, "yAxis": []object{shares.patch()},
		"series": []object{{"areaStyle": object{"color": seriesColor(0), "opacity": .10}}, {"areaStyle": object{"color": seriesColor(1), "opacity": .10}}},
		"aria":   aria("Histogram of the selected requests and of all others.")})
	if err != nil {
		return nil, err
	}
	names := []string{"Selected", "All others"}
	f := Figure{ID: id + "-chart", Title: "Distribution", Caption: "Share of the completed requests, up to p99.9.", Height: "m", Group: id + "-shape",
		Switch: newSwitch(id+"-shape", "Shape", SwitchOption{Key: "cdf", Label: "CDF"}, SwitchOption{Key: "hist", Label: "Histogram"}),
		Legend: &Legend{Charts: id + "-chart", Label: "Requests"}}
	for i, n := range names {
		f.Legend.Items = append(f.Legend.Items, LegendItem{Series: seriesName(i), Label: n, Swatch: swatch(i), On: true})
	}
	return c.draw(f, &chart{Variants: map[string]object{"cdf": a, "hist": b}, First: "cdf", Names: names}), nil
}

func exploreLines(tip string, x, y axis, step string) *charts.Line {
	c := charts.NewLine()
	c.SetGlobalOptions(charts.WithXAxisOpts(x.x()), charts.WithYAxisOpts(y.y()), tooltip("axis", tip), charts.WithGridOpts(grid(46, 20, 14, 46)))
	for i := range 2 {
		line := opts.LineChart{ShowSymbol: opts.Bool(false), Symbol: "none"}
		if step != "" {
			line.Step = step
		}
		c.AddSeries(seriesName(i), nil, withData([][]any{}),
			charts.WithLineStyleOpts(opts.LineStyle{Color: seriesColor(i), Width: 2}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(i)}), charts.WithLineChartOpts(line))
	}
	return c
}
