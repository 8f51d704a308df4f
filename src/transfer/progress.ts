/** Receives the progress of a transfer. */
export type Progress = {
  /** A stage of `rows` rows begins; 0: unknown. */
  begin(stage: string, rows: number): void;
  advance(rows: number): void;
  end(): void;
};
