import { type Command, Option } from 'commander';
import { profileNames } from '../client/profiles.ts';
import { CliError, stdout } from '../output/screen.ts';

/** A suggested word that completes the command line, with its description. */
export type Suggestion = { readonly word: string; readonly description: string };

/** Registers the command `carillon completion`. */
export function addCompletion(program: Command): void {
  const shells = Object.keys(completionScripts);
  const completion = program
    .command('completion')
    .description('Print a script that completes commands, flags and values: source <(carillon completion bash).');
  completion.addArgument(completion.createArgument('<shell>', 'The shell.').choices(shells)).action((shell: string) => {
    if (!Object.hasOwn(completionScripts, shell)) throw new CliError([`${shell} is not one of ${shells.join(', ')}.`]);
    stdout.printText(completionScripts[shell as keyof typeof completionScripts]);
  });
}

/** Implements `carillon complete -- <words>`, which the shell scripts call; the last word is the one being typed. */
export function printSuggestions(program: Command, words: readonly string[]): void {
  const typed = rejoinWords(words[0] === '--' ? words.slice(1) : words);
  stdout.print(...suggestWords(program, typed).map(({ word, description }) => [word, description]));
}

/** Rejoins words that bash has split at `=` or `:`, such as `--state=live` and `localhost:80`. */
function rejoinWords(words: readonly string[]): string[] {
  const result: string[] = [];
  for (const word of words) {
    const isPart = word === '=' || word === ':' || /(?:^--[\w-]+=|:)$/.test(result.at(-1) ?? '');
    if (isPart && result.length > 0) result.push(`${result.pop()}${word}`);
    else result.push(word);
  }
  return result;
}

/** Returns suggestions for the last word, derived from the registered commands and options. */
export function suggestWords(program: Command, typed: readonly string[]): Suggestion[] {
  const last = typed.at(-1) ?? '';
  const { command, awaits, given } = resolveWords(program, typed.slice(0, -1));
  const [, flag, value] = /^(--[\w-]+)=(.*)$/s.exec(last) ?? [];
  if (flag !== undefined) return suggestValues(findOption(command, flag), value ?? '').map(addPrefix(`${flag}=`));
  if (awaits !== undefined) return suggestValues(awaits, last);
  const words = last.startsWith('-')
    ? suggestFlags(command)
    : [...suggestCommands(command), ...suggestChoices(command, given)];
  return words.filter(({ word }) => word.startsWith(last));
}

/**
 * Resolves the words to a command, the number of arguments given to it, and the option whose value comes next, if any.
 */
function resolveWords(program: Command, words: readonly string[]) {
  let command = program;
  let awaits: Option | undefined;
  let given = 0;
  for (const word of words) {
    if (awaits !== undefined) awaits = undefined;
    else if (word.startsWith('-'))
      awaits = word.includes('=') ? undefined : optionAwaitingValue(findOption(command, word));
    else {
      const next = command.commands.find((one) => one.name() === word);
      given = next === undefined ? given + 1 : 0;
      command = next ?? command;
    }
  }
  return { command, awaits, given };
}

const findOption = (command: Command, flag: string) =>
  command.options.find((option) => [option.long, option.short].includes(flag));

const optionAwaitingValue = (option: Option | undefined) => (option?.required ? option : undefined);

const addPrefix = (before: string) => (one: Suggestion) => ({ ...one, word: before + one.word });

/** Returns the possible values of an option. In a comma-separated list, the last element is completed. */
function suggestValues(option: Option | undefined, typed: string): Suggestion[] {
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  const words = option?.long === '--profile' ? profileNames() : (option?.argChoices ?? []);
  const unused = words.filter((word) => !before.split(',').includes(word));
  return unused.map((word) => ({ word: before + word, description: '' })).filter(({ word }) => word.startsWith(typed));
}

function suggestFlags(command: Command): Suggestion[] {
  const options = [...command.options, new Option('--help', 'display help for command')];
  return options.map(({ long, description }) => ({ word: long ?? '', description: firstSentence(description) }));
}

function suggestCommands(command: Command): Suggestion[] {
  return command.commands.map((one) => ({
    word: one.name(),
    description: one.summary() || firstSentence(one.description()),
  }));
}

function suggestChoices(command: Command, given: number): Suggestion[] {
  return (command.registeredArguments[given]?.argChoices ?? []).map((word) => ({ word, description: '' }));
}

function firstSentence(description: string): string {
  return description.replace(/[.;:(] .*$/s, '').replace(/\s+/g, ' ');
}

/**
 * Completion scripts by shell. They call the program for suggestions, so they never become outdated. They pass the
 * typed words on unchanged and evaluate nothing.
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
