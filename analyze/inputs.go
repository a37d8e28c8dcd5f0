package analyze

import "context"

func runInputs(_ context.Context, in *Input, _ *Report) (any, []string, error) {
	if len(in.Data.Inputs) == 0 {
		return nil, nil, nil
	}
	out := &Inputs{Inputs: in.Data.Inputs}
	for _, i := range in.Data.Inputs {
		if i.Format == "unknown" {
			out.Unknown++
		} else {
			out.Known++
		}
	}
	return out, nil, nil
}
