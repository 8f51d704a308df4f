import { closeSync, openSync, rmSync, writeSync } from 'node:fs';

const WRITE_BATCH_BYTES = 1 << 16;

/** Writes a JSON Lines file with mode 0600. The file is created at the first write. */
export class Lines {
  readonly path: string;
  #file: number | undefined;
  #waiting = '';

  constructor(path: string) {
    this.path = path;
    rmSync(path, { force: true });
  }

  add(line: unknown): void {
    this.text(`${JSON.stringify(line)}\n`);
  }

  text(text: string): void {
    this.#waiting += text;
    if (this.#waiting.length >= WRITE_BATCH_BYTES) this.#flush();
  }

  close(): void {
    if (this.#waiting !== '') this.#flush();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #flush(): void {
    this.#file ??= openSync(this.path, 'wx', 0o600);
    const bytes = Buffer.from(this.#waiting);
    for (let written = 0; written < bytes.length; ) written += writeSync(this.#file, bytes, written);
    this.#waiting = '';
  }
}
