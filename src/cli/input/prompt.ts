import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { printable } from '../../control-characters.ts';
import { CliError } from '../output/cli-error.ts';
import { keyboard, stderr } from '../output/screen.ts';

/** Asks for a line on the terminal. */
export async function askLine(question: string): Promise<string> {
  const lines = createInterface(keyboard);
  return answered(lines.question(printable(question))).finally(() => lines.close());
}

/** Asks for what nobody should see: on a terminal it is not shown while it is typed; else it is the whole standard input. */
export async function askSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return (await readInput()).trim();
  stderr.prompt(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  return answered(lines.question('')).finally(() => {
    lines.close();
    stderr.print('');
  });
}

/** All of standard input. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/** Ctrl-C and Ctrl-D at a question mean that there is no answer. */
async function answered(answer: Promise<string>): Promise<string> {
  try {
    return (await answer).trim();
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw new CliError(['Nothing was saved.']);
    throw error;
  }
}
