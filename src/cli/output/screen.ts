import { styleText } from 'node:util';
import { toPrintable, toPrintableJson } from '../../control-characters.ts';

/** Destination of printed text: a stream of the process, or a substitute in a test. */
export type OutputSink = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  getColorDepth?(): number;
  write(text: string): unknown;
};

/** A line of output: a text, or cells that are printed with tabs between them. */
export type OutputLine = string | readonly string[];

type TextColor = 'green' | 'red';

/** Color depth, in bits, up to which a terminal counts as monochrome and gets no colors. */
const MAX_MONOCHROME_DEPTH_BITS = 2;

/**
 * The only way for commands to write to standard output and standard error. Labels, responses and error texts are
 * untrusted, so control characters are replaced: they could move the cursor, or hide or forge lines.
 */
export class Output {
  readonly #sink: OutputSink;

  constructor(sink: OutputSink) {
    this.#sink = sink;
  }

  get isTTY(): boolean {
    return this.#sink.isTTY === true;
  }

  get columns(): number | undefined {
    return this.#sink.columns;
  }

  /** Prints lines with a single write. */
  print(...lines: readonly OutputLine[]): void {
    this.#sink.write(lines.map((line) => `${escapeLine(line)}\n`).join(''));
  }

  /** Prints a line with one word in color, if the terminal has colors. */
  printWithColor(line: string, word: string, color: TextColor): void {
    const hasColors = this.isTTY && (this.#sink.getColorDepth?.() ?? 0) > MAX_MONOCHROME_DEPTH_BITS;
    const colorize = (text: string) => (hasColors ? styleText(color, text, { validateStream: false }) : text);
    this.#sink.write(`${toPrintable(line).replace(word, () => colorize(word))}\n`);
  }

  /**
   * Prints a value as JSON, by default followed by a line end. With other values of `prefix` and `suffix`, the elements
   * of an array can be printed one by one.
   */
  printJson(
    value: unknown,
    { prefix = '', suffix = '\n' }: { prefix?: '' | '[' | ',\n'; suffix?: '' | '\n' } = {},
  ): void {
    this.#sink.write(`${prefix}${toPrintableJson(JSON.stringify(value))}${suffix}`);
  }

  /** Prints a result: as JSON with `--json`, otherwise as lines. */
  printResult(flags: { readonly json?: boolean | undefined }, value: unknown, lines: readonly OutputLine[]): void {
    if (flags.json) this.printJson(value);
    else this.print(...lines);
  }

  /** Prints a text that contains its own line ends, such as help or a shell script. */
  printText(text: string): void {
    this.#sink.write(text.split('\n').map(toPrintable).join('\n'));
  }

  /** Prints a prompt without a line end. */
  prompt(question: string): void {
    this.#sink.write(toPrintable(question));
  }

  /** Overwrites the current line of the terminal. */
  redraw(line: string, lineEnd: '' | '\n' = ''): void {
    this.#sink.write(`\r${toPrintable(line)}\x1b[K${lineEnd}`);
  }
}

function escapeLine(line: OutputLine): string {
  return typeof line === 'string' ? toPrintable(line) : line.map(toPrintable).join('\t');
}

export const stdout = new Output(process.stdout);
export const stderr = new Output(process.stderr);

/** Streams that interactive prompts read from and write to. */
export const promptStreams = { input: process.stdin, output: process.stderr };

/** Registers a handler for write errors on standard output, such as a closed pipe. */
export function onOutputError(onError: (error: NodeJS.ErrnoException) => void): void {
  process.stdout.on('error', onError);
}

/** Writes data to standard output without escaping. Use it for pipes and files, never for terminals. */
export function writeUnescaped(chunk: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

/** Error of a command that failed. Each line states one reason and is printed without a stack trace. */
export class CliError extends Error {
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'CliError';
    this.lines = lines;
  }
}
