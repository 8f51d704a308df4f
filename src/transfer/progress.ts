/** Receives the progress of a transfer. */
export type TransferProgress = {
  /** A stage begins. `rows` is its number of rows; 0 if the number is unknown. */
  begin(stage: string, rows: number): void;
  advance(rows: number): void;
  end(): void;
};
