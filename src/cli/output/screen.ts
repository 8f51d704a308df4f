import { styleText } from 'node:util';
import { printable, printableJson } from '../../control-characters.ts';

/** Where text goes in the end: a stream of this process, or a test. */
export type Sink = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  getColorDepth?(): number;
  write(text: string): unknown;
};

/** A line for people, or the cells of one, which tabs separate. */
export type Line = string | readonly string[];

type Colour = 'green' | 'red';

/** Fewer colours than this are black and white. */
const MIN_COLOR_DEPTH = 2;

/**
 * The one way of a command to standard output and standard error. Labels, answers and error texts are written by
 * strangers, so each line is printed without control characters: they cannot move the cursor, hide or forge a line.
 */
export class Screen {
  readonly #sink: Sink;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  get isTTY(): boolean {
    return this.#sink.isTTY === true;
  }

  get columns(): number | undefined {
    return this.#sink.columns;
  }

  /** Prints lines, in one write. */
  print(...lines: readonly Line[]): void {
    this.#sink.write(lines.map((line) => `${escaped(line)}\n`).join(''));
  }

  /** Prints a line in which one word has a colour, where the terminal has colours. */
  printColoured(line: string, word: string, colour: Colour): void {
    const hasColours = this.isTTY && (this.#sink.getColorDepth?.() ?? 0) > MIN_COLOR_DEPTH;
    const paint = (text: string) => (hasColours ? styleText(colour, text, { validateStream: false }) : text);
    this.#sink.write(`${printable(line).replace(word, () => paint(word))}\n`);
  }

  /** Prints a value for programs: in JSON, on a line of its own, or as a part of a longer text. */
  printJson(
    value: unknown,
    { before = '', after = '\n' }: { before?: '' | '[' | ',\n'; after?: '' | '\n' } = {},
  ): void {
    this.#sink.write(`${before}${printableJson(JSON.stringify(value))}${after}`);
  }

  /** Prints an answer: in JSON where programs ask for it, else in lines for people. */
  answer(flags: { readonly json?: boolean | undefined }, value: unknown, lines: readonly Line[]): void {
    if (flags.json) this.printJson(value);
    else this.print(...lines);
  }

  /** Prints a text that ends its lines itself: help, a script for a shell. */
  printText(text: string): void {
    this.#sink.write(text.split('\n').map(printable).join('\n'));
  }

  /** Asks: what is typed stands in the same line. */
  prompt(question: string): void {
    this.#sink.write(printable(question));
  }

  /** Writes over the line of the terminal that the cursor is in. */
  redraw(line: string, end: '' | '\n' = ''): void {
    this.#sink.write(`\r${printable(line)}\x1b[K${end}`);
  }
}

function escaped(line: Line): string {
  return typeof line === 'string' ? printable(line) : line.map(printable).join('\t');
}

export const stdout = new Screen(process.stdout);
export const stderr = new Screen(process.stderr);

/** Between which a person types and reads what is typed. */
export const keyboard = { input: process.stdin, output: process.stderr };

/** Calls when standard output takes nothing any more. */
export function onOutputBroken(run: (error: NodeJS.ErrnoException) => void): void {
  process.stdout.on('error', run);
}

/** Writes a part of a file to standard output as it is: for a pipe or a file, where no terminal reads it. */
export function writeOut(part: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(part, (error) => (error ? reject(error) : resolve()));
  });
}
