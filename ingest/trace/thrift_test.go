package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// Metadata of values within values are refused before they fill the stack.
func TestDeepMetadata(t *testing.T) {
	for _, s := range []string{"\x19", "\x1a", "\x1c"} { // lists, sets, structs of one
		deep := strings.Repeat(s, 16<<20)
		b := append([]byte("PAR1"+deep), binary.LittleEndian.AppendUint32(nil, uint32(len(deep)))...)
		b = append(b, "PAR1"...)
		_, err := readFooter(bytes.NewReader(b), int64(len(b)), "t.parquet")
		var fe *serving.FormatError
		if !errors.As(err, &fe) || fe.Found != "damaged Parquet metadata" {
			t.Errorf("%q again and again: %v", s, err)
		}
	}
}
