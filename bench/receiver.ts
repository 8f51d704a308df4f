import { once } from 'node:events';
import type { Program } from './programs.ts';
import type { ArrivalReport } from './receiver-process.ts';

/** A webhook receiver in a child process that records arrivals. */
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

  /** Returns the arrivals since the last report. */
  async report(): Promise<ArrivalReport> {
    const { process } = this.#program;
    const response = once(process, 'message');
    process.send({ is: 'report' });
    const [report] = await response;
    return report as ArrivalReport;
  }
}
