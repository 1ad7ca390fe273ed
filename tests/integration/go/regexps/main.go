// The regexp package of the Go at hand, asked in lines of JSON: what a pattern matches of a text, and what a template
// makes of the match. Started with the argument "unicode" it names the version of its Unicode tables instead.
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
	// Members asks for the code points that the pattern matches, instead of a text.
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
		var asked question
		if err := in.Decode(&asked); err != nil {
			panic(err)
		}
		if err := encoder.Encode(respond(asked)); err != nil {
			panic(err)
		}
	}
}

func respond(asked question) answer {
	compiled, err := regexp.Compile(asked.Pattern)
	if err != nil {
		return answer{Error: err.Error()}
	}
	if asked.Members {
		return answer{Ranges: members(compiled)}
	}
	found := answer{Names: compiled.SubexpNames(), Match: compiled.FindSubmatchIndex(asked.Text)}
	if found.Match != nil {
		found.Expanded = compiled.Expand([]byte{}, []byte(asked.Template), asked.Text, found.Match)
	}
	return found
}

// members are the ranges of code points of which a text alone is matched.
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
