package api

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the n names that differ least from one that does not exist, best first,
// for messages that refuse it. Case does not count.
func Nearest(name string, names []string, n int) []string {
	near := slices.Clone(names)
	distances := make(map[string]int, len(near))
	for _, other := range near {
		distances[other] = Edits(strings.ToLower(name), strings.ToLower(other))
	}
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return near[:min(n, len(near))]
}

// Edits is the least number of bytes to insert, remove or replace to make b of a
// (Levenshtein's distance).
func Edits(a, b string) int {
	row := make([]int, len(b)+1) // of the prefix of a so far, for each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
