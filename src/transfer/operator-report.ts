/** Error of an export or import that failed, with one line for each reason, for the operator. */
export class TransferError extends Error {
  readonly lines: readonly string[];

  constructor(...lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'TransferError';
    this.lines = lines;
  }
}

/** Receives the progress of a transfer. */
export type TransferProgress = {
  /** Called when a stage begins. `rowCount` is its number of rows; 0 if unknown. */
  begin(stage: string, rowCount: number): void;
  advance(rowCount: number): void;
  end(): void;
};
