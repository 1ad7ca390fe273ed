// Answers questions about Go's regexp package, as lines of JSON: the match of a pattern in a text, and a template
// expanded by it. With the argument "unicode" it prints the version of Go's Unicode tables instead.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"unicode"
)

// A question; the text is bytes, base64 in JSON, since it need not be valid UTF-8.
type question struct {
	Pattern  string
	Text     []byte
	Template string
	// Members requests the code points that the pattern matches, instead of a match in a text.
	Members bool
}

type answer struct {
	Error    string   `json:"error"`
	Names    []string `json:"names"`
	Match    []int    `json:"match"`
	Expanded []byte   `json:"expanded"`
	Ranges   [][2]int `json:"ranges"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "unicode" {
		fmt.Println(unicode.Version)
		return
	}
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.More() {
		var input question
		if err := in.Decode(&input); err != nil {
			panic(err)
		}
		if err := encoder.Encode(respond(input)); err != nil {
			panic(err)
		}
	}
}

func respond(input question) answer {
	compiled, err := regexp.Compile(input.Pattern)
	if err != nil {
		return answer{Error: err.Error()}
	}
	if input.Members {
		return answer{Ranges: members(compiled)}
	}
	result := answer{Names: compiled.SubexpNames(), Match: compiled.FindSubmatchIndex(input.Text)}
	if result.Match != nil {
		result.Expanded = compiled.Expand([]byte{}, []byte(input.Template), input.Text, result.Match)
	}
	return result
}

// members returns the ranges of code points that the pattern matches as one-character texts.
func members(compiled *regexp.Regexp) [][2]int {
	ranges := [][2]int{}
	for code := 0; code <= unicode.MaxRune; code++ {
		if 0xD800 <= code && code < 0xE000 || !compiled.MatchString(string(rune(code))) {
			continue
		}
		if last := len(ranges) - 1; last >= 0 && ranges[last][1] == code-1 {
			ranges[last][1] = code
		} else {
			ranges = append(ranges, [2]int{code, code})
		}
	}
	return ranges
}
