"""Tables: one model of lines, levels, curves and surfaces, its ladder, curves and scorecard."""
