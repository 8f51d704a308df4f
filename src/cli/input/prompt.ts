import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { printable } from '../../control-characters.ts';
import { CliError, promptStreams, stderr } from '../output/screen.ts';

export async function askLine(question: string): Promise<string> {
  const lines = createInterface(promptStreams);
  return awaitAnswer(lines.question(printable(question))).finally(() => lines.close());
}

/** Prompts for a secret without echo on a terminal. Without a terminal, reads the secret from standard input. */
export async function askSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return (await readStandardInput()).trim();
  stderr.prompt(question);
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: discard, terminal: true });
  return awaitAnswer(lines.question('')).finally(() => {
    lines.close();
    stderr.print('');
  });
}

export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/** Turns Ctrl-C and Ctrl-D at a prompt into a `CliError`. */
async function awaitAnswer(answer: Promise<string>): Promise<string> {
  try {
    return (await answer).trim();
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw new CliError(['Nothing was saved.']);
    throw error;
  }
}
