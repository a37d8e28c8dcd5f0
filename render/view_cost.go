package render

import (
	"fmt"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// costView is the cost of tokens.
type costView struct {
	Sub      string
	Capacity []string
	Table    *Table
}

func viewCost(_ *pageContext, value any) (any, error) {
	c, err := valueAs[analyze.Cost](value)
	if err != nil {
		return nil, err
	}
	v := costView{Sub: fmt.Sprintf("At %s for a GPU and hour.", money(c.Price, c.Price.PerGPUHour))}
	for _, k := range c.Capacity {
		v.Capacity = append(v.Capacity, fmt.Sprintf("%s: %s a million output tokens at the capacity under the objectives (level %s).", k.Sweep.Label, money(c.Price, k.PerMillionOut), k.Level))
	}
	v.Table = &Table{ID: "cost-runs", Caption: "Cost of a million tokens, run by run", Sortable: true,
		Head: []Head{col("Run"), col("Load"), numCol("GPUs", "", ""), col("GPUs from"), numCol("an hour", c.Price.Currency, c.Price.Currency), numCol("output", "tok/s", "tok/s"),
			numCol("million output tokens", c.Price.Currency, c.Price.Currency), numCol("million tokens", c.Price.Currency, c.Price.Currency)}}
	for _, r := range c.Rows {
		v.Table.Rows = append(v.Table.Rows, Row{Cells: []Cell{text(r.Run.Run.Label), text(FormatLoad(r.Run.Run.Load, r.Run.Counts.Sent)), number(FormatCount(int64(r.GPUs)), fmt.Sprint(r.GPUs)), wrapped(r.GPUsFrom),
			amountCell(serving.Some(r.PerHour)), rateCell(r.Run.Throughput.Output), amountCell(r.PerMillionOut), amountCell(r.PerMillionTotal)}})
	}
	return &v, nil
}

func amountCell(v serving.Opt[float64]) Cell {
	if !v.OK {
		return number(Missing, "")
	}
	return number(FormatNumber(v.V), RawValue(serving.NoUnit, v))
}

func money(p analyze.Price, v float64) string { return FormatNumber(v) + " " + p.Currency }
