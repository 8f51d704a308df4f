import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Delay, Demand, Report } from './scale-node.ts';

const program = fileURLToPath(new URL('./scale-node.ts', import.meta.url));

type Word = { readonly is: 'ready' | 'done' } | { readonly is: 'report'; readonly report: Report };

/** The nodes of a run, each a process. */
export class Processes {
  readonly #children: readonly ChildProcess[];

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  static async start(database: string, count: number): Promise<Processes> {
    const children = Array.from({ length: count }, () => fork(program, [database]));
    await Promise.all(children.map(heard));
    return new Processes(children);
  }

  /** How long targets take to answer from now on. */
  async delay(otherwiseMs: number, delays: readonly Delay[] = []): Promise<void> {
    await this.#ask({ is: 'delay', delays, otherwiseMs });
  }

  /** What each has done since it was asked before. */
  async reports(): Promise<readonly Report[]> {
    const words = await this.#ask({ is: 'report' });
    return words.flatMap((word) => (word.is === 'report' ? [word.report] : []));
  }

  async stop(): Promise<void> {
    const gone = this.#children.map((child) => once(child, 'exit'));
    for (const child of this.#children) child.send({ is: 'stop' } satisfies Demand);
    await Promise.all(gone);
  }

  #ask(demand: Demand): Promise<Word[]> {
    return Promise.all(
      this.#children.map((child) => {
        const answer = heard(child);
        child.send(demand);
        return answer;
      }),
    );
  }
}

function heard(child: ChildProcess): Promise<Word> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('a node ended'));
    child.once('exit', gone);
    child.once('message', (word) => {
      child.off('exit', gone);
      resolve(word as Word);
    });
  });
}
