/**
 * Completion scripts per shell. They call the program for suggestions, so they never go stale, and pass the typed words
 * unchanged: nothing is evaluated.
 */
export const scripts = {
  bash: `# carillon: source <(carillon completion bash)
_carillon() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
    # Behind a = bash replaces the value alone.
    [[ $line == --*=* ]] && line=\${line#*=}
    COMPREPLY+=("$line")
  done < <("$1" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _carillon carillon
`,
  zsh: `#compdef carillon
# carillon: source <(carillon completion zsh)
_carillon() {
  local line word
  local -a found
  while IFS= read -r line; do
    word=\${line%%$'\\t'*}
    found+=("\${word//:/\\\\:}:\${line#*$'\\t'}")
  done < <("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe carillon found; else _files; fi
}
compdef _carillon carillon
`,
  fish: `# carillon: carillon completion fish | source
function __carillon
  set -l words (commandline -opc)
  $words[1] complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c carillon -f -a '(__carillon)'
`,
} as const;
