/** Receives the progress of a transfer. */
export type TransferProgress = {
  /** Called when a stage begins. `rowCount` is its number of rows; 0 if unknown. */
  begin(stage: string, rowCount: number): void;
  advance(rowCount: number): void;
  end(): void;
};
