import { once } from 'node:events';
import type { Program } from './programs.ts';
import type { Report } from './receiver-process.ts';

/** Somebody who is notified, in a process of its own, which writes down what arrives when. */
export class Receiver {
  readonly url: string;
  readonly #program: Program;

  constructor(program: Program) {
    this.url = program.url;
    this.#program = program;
  }

  get pid(): number | undefined {
    return this.#program.process.pid;
  }

  /** What has arrived since this was asked before. */
  async report(): Promise<Report> {
    const { process } = this.#program;
    const answered = once(process, 'message');
    process.send({ is: 'report' });
    const [report] = await answered;
    return report as Report;
  }
}
