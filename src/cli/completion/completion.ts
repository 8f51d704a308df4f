import { type Command, Option } from 'commander';
import { listProfileNames } from '../client/profiles.ts';
import { CliError, stdout } from '../output/screen.ts';

/** A suggested word that completes the command line, with its description. */
type Suggestion = { readonly word: string; readonly description: string };

/** Registers the command `carillon completion`. */
export function addCompletionCommand(program: Command): void {
  const shells = Object.keys(completionScripts);
  const completionCommand = program
    .command('completion')
    .description('Print a script that completes commands, flags and values: source <(carillon completion bash).');
  completionCommand
    .addArgument(completionCommand.createArgument('<shell>', 'The shell.').choices(shells))
    .action((shell: string) => {
      if (!Object.hasOwn(completionScripts, shell))
        throw new CliError([`${shell} is not one of ${shells.join(', ')}.`]);
      stdout.printText(completionScripts[shell as keyof typeof completionScripts]);
    });
}

/** Implements `carillon complete -- <words>`, which the shell scripts call. The last word is still being typed. */
export function printSuggestions(program: Command, words: readonly string[]): void {
  const typedWords = rejoinWords(words[0] === '--' ? words.slice(1) : words);
  stdout.print(...suggestWords(program, typedWords).map(({ word, description }) => [word, description]));
}

/** Rejoins words that bash has split at `=` or `:`, such as `--state=live` and `localhost:80`. */
function rejoinWords(words: readonly string[]): string[] {
  const joinedWords: string[] = [];
  for (const word of words) {
    const isContinuation = word === '=' || word === ':' || /(?:^--[\w-]+=|:)$/.test(joinedWords.at(-1) ?? '');
    if (isContinuation && joinedWords.length > 0) joinedWords.push(`${joinedWords.pop()}${word}`);
    else joinedWords.push(word);
  }
  return joinedWords;
}

/** Returns suggestions for the last word, derived from the registered commands and options. */
export function suggestWords(program: Command, typedWords: readonly string[]): Suggestion[] {
  const lastWord = typedWords.at(-1) ?? '';
  const { command, awaitedOption, argumentCount } = resolveCommand(program, typedWords.slice(0, -1));
  const [, flag, value] = /^(--[\w-]+)=(.*)$/s.exec(lastWord) ?? [];
  if (flag !== undefined) return suggestValues(findOption(command, flag), value ?? '').map(addPrefix(`${flag}=`));
  if (awaitedOption !== undefined) return suggestValues(awaitedOption, lastWord);
  const words = lastWord.startsWith('-')
    ? suggestFlags(command)
    : [...suggestCommands(command), ...suggestChoices(command, argumentCount)];
  return words.filter(({ word }) => word.startsWith(lastWord));
}

/**
 * Resolves the words to a command, the number of arguments given to it, and the option whose value comes next, if any.
 */
function resolveCommand(program: Command, words: readonly string[]) {
  let command = program;
  let awaitedOption: Option | undefined;
  let argumentCount = 0;
  for (const word of words) {
    if (awaitedOption !== undefined) awaitedOption = undefined;
    else if (word.startsWith('-'))
      awaitedOption = word.includes('=') ? undefined : keepIfValueRequired(findOption(command, word));
    else {
      const subcommand = command.commands.find((candidate) => candidate.name() === word);
      argumentCount = subcommand === undefined ? argumentCount + 1 : 0;
      command = subcommand ?? command;
    }
  }
  return { command, awaitedOption, argumentCount };
}

const findOption = (command: Command, flag: string) =>
  command.options.find((option) => [option.long, option.short].includes(flag));

const keepIfValueRequired = (option: Option | undefined) => (option?.required ? option : undefined);

const addPrefix = (prefix: string) => (suggestion: Suggestion) => ({ ...suggestion, word: prefix + suggestion.word });

/** Returns the possible values of an option. In a comma-separated list, the last element is completed. */
function suggestValues(option: Option | undefined, typedText: string): Suggestion[] {
  const listPrefix = typedText.slice(0, typedText.lastIndexOf(',') + 1);
  const words = option?.long === '--profile' ? listProfileNames() : (option?.argChoices ?? []);
  const unusedWords = words.filter((word) => !listPrefix.split(',').includes(word));
  return unusedWords
    .map((word) => ({ word: listPrefix + word, description: '' }))
    .filter(({ word }) => word.startsWith(typedText));
}

function suggestFlags(command: Command): Suggestion[] {
  const options = [...command.options, new Option('--help', 'display help for command')];
  return options.map(({ long, description }) => ({ word: long ?? '', description: extractFirstSentence(description) }));
}

function suggestCommands(command: Command): Suggestion[] {
  return command.commands.map((subcommand) => ({
    word: subcommand.name(),
    description: subcommand.summary() || extractFirstSentence(subcommand.description()),
  }));
}

function suggestChoices(command: Command, argumentIndex: number): Suggestion[] {
  return (command.registeredArguments[argumentIndex]?.argChoices ?? []).map((word) => ({ word, description: '' }));
}

function extractFirstSentence(description: string): string {
  return description.replace(/[.;:(] .*$/s, '').replace(/\s+/g, ' ');
}

/**
 * Completion scripts by shell. The scripts call the program for suggestions, so they never become outdated. They pass
 * the typed words to the program unchanged and never evaluate them.
 */
export const completionScripts = {
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
