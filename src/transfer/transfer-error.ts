/** Error of an export or import that failed, with one line for each reason, for the operator. */
export class TransferError extends Error {
  readonly lines: readonly string[];

  constructor(...lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'TransferError';
    this.lines = lines;
  }
}
