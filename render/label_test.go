package render

import "testing"

func TestLabelTitle(t *testing.T) {
	for label, want := range map[string]string{
		"requests": "Requests", "log of vllm-0": "Log of vllm-0", "gateway/prod": "gateway/prod", "vllm-0": "vllm-0", "run=a": "run=a", "": "", "Qwen": "Qwen",
	} {
		if got := labelTitle(label); got != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}
