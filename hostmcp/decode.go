package hostmcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/falleng0d/computer-use-mcp/api"
)

// clean checks the arguments of a call against a tool's fields and returns them as
// JSON of exactly the kinds that the fields name. Models send what is meant in several
// forms: a number or boolean may be given as a string, an array or object as a string
// that holds it in JSON, and null is a field left out. Anything else is refused with an
// [api.Error] of CodeBadRequest that names the field and what is accepted.
func clean(tool string, fields []Field, data []byte) ([]byte, error) {
	var object any
	if len(bytes.TrimSpace(data)) > 0 {
		if err := parseJSON(data, &object); err != nil {
			return nil, api.Errorf(api.CodeBadRequest, "The arguments of %s are not JSON: %v.", tool, err)
		}
	}
	if object == nil {
		object = map[string]any{}
	}
	checked, err := cleanObject(tool, object, fields)
	if err != nil {
		return nil, api.Errorf(api.CodeBadRequest, "%s.", err).
			WithFix("Correct the arguments and call %s again; nothing was done.", tool)
	}
	return json.Marshal(checked)
}

// parseJSON decodes exactly one value and keeps numbers as they are written.
func parseJSON(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

// cleanObject checks an object; what names it in messages.
func cleanObject(what string, value any, fields []Field) (map[string]any, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: an object is needed, not %s", what, describe(value))
	}
	if name, ok := unknownField(object, fields); ok {
		return nil, fmt.Errorf("%s: unknown field '%.40s'; it takes %s", what, name, names(fields))
	}
	return cleanFields(what, object, fields)
}

// unknownField returns the first name, in alphabetical order, that no field has.
func unknownField(object map[string]any, fields []Field) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			return name, true
		}
	}
	return "", false
}

func cleanFields(what string, object map[string]any, fields []Field) (map[string]any, error) {
	checked := map[string]any{}
	for _, f := range fields {
		value, ok := object[f.Name]
		if !ok || value == nil {
			if f.Required {
				return nil, fmt.Errorf("%s: the field '%s' is missing", what, f.Name)
			}
			continue
		}
		value, err := cleanValue(what, f, value)
		if err != nil {
			return nil, err
		}
		checked[f.Name] = value
	}
	return checked, nil
}

func cleanValue(what string, f Field, value any) (any, error) {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s %s", what, f.Name, fmt.Sprintf(format, args...))
	}
	if text, ok := value.(string); ok && f.Kind != String {
		value = fromText(f.Kind, text)
	}
	switch f.Kind {
	case String:
		text, ok := value.(string)
		if !ok {
			return nil, fail("must be a string, not %s", describe(value))
		}
		if len(f.Enum) > 0 && !slices.Contains(f.Enum, text) {
			return nil, fail("must be one of %s, not %s", strings.Join(f.Enum, ", "), describe(value))
		}
		// The space around it does not count, where a length is asked for.
		if n := utf8.RuneCountInString(strings.TrimSpace(text)); f.outside(float64(n)) {
			return nil, fail("has %d characters; %d to %d are accepted", n, f.Min, f.Max)
		}
		return text, nil
	case Integer, Number:
		number, ok := value.(json.Number)
		if !ok {
			return nil, fail("must be a number, not %s", describe(value))
		}
		n, err := number.Float64()
		if err != nil || f.Kind == Integer && (n != math.Trunc(n) || math.Abs(n) > 1<<53) {
			return nil, fail("must be a whole number, not %.40s", number)
		}
		if f.outside(n) {
			return nil, fail("must be %d to %d, not %.40s", f.Min, f.Max, number)
		}
		if f.Kind == Integer {
			return int64(n), nil
		}
		return n, nil
	case Boolean:
		if _, ok := value.(bool); !ok {
			return nil, fail("must be true or false, not %s", describe(value))
		}
		return value, nil
	case Array:
		items, ok := value.([]any)
		if !ok {
			return nil, fail("must be an array, not %s", describe(value))
		}
		if f.outside(float64(len(items))) {
			return nil, fail("has %d items; %d to %d are accepted", len(items), f.Min, f.Max)
		}
		return cleanItems(what, f, items)
	}
	if f.Variants != nil {
		return cleanVariant(f, value)
	}
	return cleanObject(what+": "+f.Name, value, f.Fields)
}

// cleanItems checks the items of an array. Named items are what messages are about:
// "action 2", counted from 1.
func cleanItems(what string, f Field, items []any) ([]any, error) {
	checked := make([]any, len(items))
	for i, value := range items {
		item := *f.Item
		if item.Name == "" {
			item.Name = fmt.Sprintf("%s[%d]", f.Name, i)
		} else {
			item.Name = fmt.Sprintf("%s %d", item.Name, i+1)
		}
		var err error
		if checked[i], err = cleanValue(what, item, value); err != nil {
			return nil, err
		}
	}
	return checked, nil
}

// cleanVariant checks an object whose kind says which fields it has.
func cleanVariant(f Field, value any) (any, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must be an object such as {\"kind\": %q, ...}, not %s", f.Name, f.Variants[0].Kind, describe(value))
	}
	kind, _ := object[variantField].(string)
	i := slices.IndexFunc(f.Variants, func(v Variant) bool { return v.Kind == kind })
	if i < 0 {
		var kinds []string
		for _, v := range f.Variants {
			kinds = append(kinds, v.Kind)
		}
		return nil, fmt.Errorf("%s: kind must be one of %s, not %s", f.Name, strings.Join(kinds, ", "), describe(object[variantField]))
	}
	fields := f.Variants[i].Fields
	if name, ok := unknownField(object, append(slices.Clip(fields), Field{Name: variantField})); ok {
		return nil, fmt.Errorf("%s: unknown field '%.40s'; %s takes %s", f.Name, name, kind, names(fields))
	}
	checked, err := cleanFields(fmt.Sprintf("%s (%s)", f.Name, kind), object, fields)
	if err == nil {
		checked[variantField] = kind
	}
	return checked, err
}

// fromText reads a value of the kind from a string; one that holds no such value is
// returned as it is, for the message that refuses it.
func fromText(kind Kind, text string) any {
	trimmed := strings.TrimSpace(text)
	switch kind {
	case Integer, Number:
		if _, err := strconv.ParseFloat(trimmed, 64); err == nil && json.Valid([]byte(trimmed)) {
			return json.Number(trimmed)
		}
	case Boolean:
		switch strings.ToLower(trimmed) {
		case "true":
			return true
		case "false":
			return false
		}
	case Array, Object:
		var value any
		if parseJSON([]byte(trimmed), &value) == nil {
			return value
		}
	}
	return text
}

func (f Field) outside(n float64) bool {
	return (f.Min != 0 || f.Max != 0) && (n < float64(f.Min) || n > float64(f.Max))
}

func names(fields []Field) string {
	if len(fields) == 0 {
		return "no fields"
	}
	var list []string
	for _, f := range fields {
		list = append(list, f.Name)
	}
	return strings.Join(list, ", ")
}

// describe names a value that was refused, cut to what fits a message.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%.60q", v)
	case json.Number:
		return fmt.Sprintf("the number %.40s", v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return "an array"
	}
	return "an object"
}
