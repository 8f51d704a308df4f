import { closeSync, openSync, rmSync, writeSync } from 'node:fs';

const FLUSH_THRESHOLD_CHARS = 1 << 16;

/** Writes a JSON Lines file with mode 0600. The file is created at the first write. */
export class JsonLinesFile {
  readonly path: string;
  #fd: number | undefined;
  #bufferedText = '';

  constructor(path: string) {
    this.path = path;
    rmSync(path, { force: true });
  }

  addLine(value: unknown): void {
    this.addText(`${JSON.stringify(value)}\n`);
  }

  addText(text: string): void {
    this.#bufferedText += text;
    if (this.#bufferedText.length >= FLUSH_THRESHOLD_CHARS) this.#flush();
  }

  close(): void {
    if (this.#bufferedText !== '') this.#flush();
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #flush(): void {
    this.#fd ??= openSync(this.path, 'wx', 0o600);
    const bytes = Buffer.from(this.#bufferedText);
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(this.#fd, bytes, offset);
    this.#bufferedText = '';
  }
}
