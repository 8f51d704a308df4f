/** What three witnesses have to say about the same records. A record is named by its address on the service. */
export type Ledgers = {
  /** Those that a client was answered 201 for. */
  readonly acknowledged: ReadonlySet<string>;
  /** Those that the receiver heard of, on each hook's path, and how often. */
  readonly arrived: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Those that are in the database in the end. */
  readonly stored: ReadonlySet<string>;
  /** Whether a hook, by its path, is to hear of a record. */
  readonly concerns: (path: string, address: string) => boolean;
};

/** What does not agree. Three empty lists are the promise kept. */
export type Verdict = {
  /** Acknowledged, and not in the database. */
  readonly lost: readonly string[];
  /** In the database, and never told to a hook that it concerns: "path address". */
  readonly untold: readonly string[];
  /** Told, and not in the database: "path address". */
  readonly phantom: readonly string[];
  /** How often something was told that had been told before. */
  readonly repeated: number;
};

/** Lays the three ledgers side by side. */
export function compare({ acknowledged, arrived, stored, concerns }: Ledgers): Verdict {
  const lost = [...acknowledged].filter((address) => !stored.has(address));
  const untold: string[] = [];
  const phantom: string[] = [];
  let repeated = 0;
  for (const [path, told] of arrived) {
    for (const address of stored) if (concerns(path, address) && !told.has(address)) untold.push(`${path} ${address}`);
    for (const [address, times] of told) {
      if (!stored.has(address) || !concerns(path, address)) phantom.push(`${path} ${address}`);
      repeated += times - 1;
    }
  }
  return { lost, untold, phantom, repeated };
}
