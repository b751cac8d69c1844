package hostmcp

import (
	"bytes"
	"encoding/json"
)

// Kind is the JSON kind of a field's value.
type Kind string

// The kinds.
const (
	String  Kind = "string"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Object  Kind = "object"
	Array   Kind = "array"
)

// Field is one argument of a tool. A list of fields is the one description of a
// tool's arguments: the schema that clients see is made of it, and arguments are
// checked by it.
type Field struct {
	Name     string
	Kind     Kind
	Doc      string // for a model; a sentence without the values that the rest says
	Required bool
	Enum     []string // of a String

	// Min and Max bound the value of a number, the characters of a string or the
	// items of an array. Both zero is no bound.
	Min, Max int

	Fields   []Field   // of an Object
	Item     *Field    // of an Array; its Name is what messages call an item
	Variants []Variant // of an Object whose field "kind" says which fields it has
}

// Variant is one form of an object that has several.
type Variant struct {
	Kind   string // the value of the field "kind"
	Doc    string
	Fields []Field
}

// variantField is the name of the field that chooses a Variant.
const variantField = "kind"

// Schema returns the JSON schema of an object with these fields. It holds no null
// unions and no alternatives, which several model providers refuse: an object with
// variants is shown as one that has the fields of all of them.
func Schema(fields []Field) json.RawMessage {
	var b bytes.Buffer
	writeObject(&b, fields)
	b.WriteByte('}')
	return b.Bytes()
}

// writeObject writes an object's schema without its closing brace. It is written by
// hand because the order of the properties is the order in which a model reads them.
func writeObject(b *bytes.Buffer, fields []Field) {
	b.WriteString(`{"type":"object","properties":{`)
	required := []string{}
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSON(b, f.Name)
		b.WriteByte(':')
		writeField(b, f)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		writeMember(b, "required", required)
	}
	writeMember(b, "additionalProperties", false)
}

func writeField(b *bytes.Buffer, f Field) {
	if f.Kind == Object {
		writeObject(b, f.allFields())
	} else {
		b.WriteString(`{"type":`)
		writeJSON(b, f.Kind)
	}
	if f.Doc != "" {
		writeMember(b, "description", f.Doc)
	}
	if len(f.Enum) > 0 {
		writeMember(b, "enum", f.Enum)
	}
	if f.Min != 0 || f.Max != 0 {
		names := map[Kind][2]string{
			String: {"minLength", "maxLength"}, Array: {"minItems", "maxItems"},
			Integer: {"minimum", "maximum"}, Number: {"minimum", "maximum"},
		}[f.Kind]
		writeMember(b, names[0], f.Min)
		writeMember(b, names[1], f.Max)
	}
	if f.Item != nil {
		b.WriteString(`,"items":`)
		writeField(b, *f.Item)
	}
	b.WriteByte('}')
}

// allFields returns the fields of an object, or those of all its variants with
// none twice.
func (f Field) allFields() []Field {
	if f.Variants == nil {
		return f.Fields
	}
	kind := Field{Name: variantField, Kind: String, Required: true}
	all := []Field{kind}
	seen := map[string]bool{}
	for _, v := range f.Variants {
		all[0].Enum = append(all[0].Enum, v.Kind)
		for _, field := range v.Fields {
			if !seen[field.Name] {
				seen[field.Name] = true
				field.Required = false
				all = append(all, field)
			}
		}
	}
	return all
}

func writeMember(b *bytes.Buffer, name string, value any) {
	b.WriteByte(',')
	writeJSON(b, name)
	b.WriteByte(':')
	writeJSON(b, value)
}

func writeJSON(b *bytes.Buffer, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic("hostmcp: a tool's table cannot be written as JSON: " + err.Error())
	}
	b.Write(data)
}
