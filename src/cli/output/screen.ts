import { styleText } from 'node:util';
import { printable, printableJson } from '../../control-characters.ts';

/** Destination of printed text: a stream of the process, or a substitute in a test. */
export type OutputSink = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  getColorDepth?(): number;
  write(text: string): unknown;
};

/** A line of output: a text, or cells that are printed with tabs between them. */
export type OutputLine = string | readonly string[];

type TextColour = 'green' | 'red';

/** Maximum color depth, in bits, of a terminal that gets no colors. */
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
  printColoured(line: string, word: string, colour: TextColour): void {
    const hasColours = this.isTTY && (this.#sink.getColorDepth?.() ?? 0) > MAX_MONOCHROME_DEPTH_BITS;
    const paint = (text: string) => (hasColours ? styleText(colour, text, { validateStream: false }) : text);
    this.#sink.write(`${printable(line).replace(word, () => paint(word))}\n`);
  }

  /** Prints a value as JSON, by default followed by a line end. */
  printJson(
    value: unknown,
    { before = '', after = '\n' }: { before?: '' | '[' | ',\n'; after?: '' | '\n' } = {},
  ): void {
    this.#sink.write(`${before}${printableJson(JSON.stringify(value))}${after}`);
  }

  /** Prints a result: as JSON with `--json`, otherwise as lines. */
  printResult(flags: { readonly json?: boolean | undefined }, value: unknown, lines: readonly OutputLine[]): void {
    if (flags.json) this.printJson(value);
    else this.print(...lines);
  }

  /** Prints a text that contains its own line ends, such as help or a shell script. */
  printText(text: string): void {
    this.#sink.write(text.split('\n').map(printable).join('\n'));
  }

  /** Prints a prompt without a line end. */
  prompt(question: string): void {
    this.#sink.write(printable(question));
  }

  /** Replaces the line of the terminal on which the cursor is. */
  redraw(line: string, end: '' | '\n' = ''): void {
    this.#sink.write(`\r${printable(line)}\x1b[K${end}`);
  }
}

function escapeLine(line: OutputLine): string {
  return typeof line === 'string' ? printable(line) : line.map(printable).join('\t');
}

export const stdout = new Output(process.stdout);
export const stderr = new Output(process.stderr);

/** Streams that interactive prompts read from and write to. */
export const promptStreams = { input: process.stdin, output: process.stderr };

/** Registers a handler for write errors on standard output, such as a closed pipe. */
export function onOutputError(run: (error: NodeJS.ErrnoException) => void): void {
  process.stdout.on('error', run);
}

/** Writes data to standard output without escaping. Use it for pipes and files, never for terminals. */
export function writeUnescaped(part: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(part, (error) => (error ? reject(error) : resolve()));
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
