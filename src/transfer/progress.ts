/** Who is shown how far it is. */
export type Progress = {
  /** A stage begins, of so many rows; 0 where nobody knows. */
  begin(stage: string, rows: number): void;
  advance(rows: number): void;
  end(): void;
};
