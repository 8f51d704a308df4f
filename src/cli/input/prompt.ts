import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { toPrintable } from '../../control-characters.ts';
import { CliError, promptStreams, stderr } from '../output/screen.ts';

export async function askLine(question: string): Promise<string> {
  const readline = createInterface(promptStreams);
  return awaitAnswer(readline.question(toPrintable(question))).finally(() => readline.close());
}

/** Prompts for a secret without echo on a terminal. Without a terminal, reads the secret from standard input. */
export async function askSecret(question: string): Promise<string> {
  if (!process.stdin.isTTY) return (await readStandardInput()).trim();
  stderr.prompt(question);
  const mutedOutput = new Writable({ write: (_chunk, _encoding, done) => done() });
  const readline = createInterface({ input: process.stdin, output: mutedOutput, terminal: true });
  return awaitAnswer(readline.question('')).finally(() => {
    readline.close();
    stderr.print('');
  });
}

export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

/** Turns Ctrl-C and Ctrl-D at a prompt into a `CliError`. */
async function awaitAnswer(answerPromise: Promise<string>): Promise<string> {
  try {
    return (await answerPromise).trim();
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw new CliError(['Nothing was saved.']);
    throw error;
  }
}
