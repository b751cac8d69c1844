package browser

import (
	"testing"

	"github.com/falleng0d/computer-use-mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
