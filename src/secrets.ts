import { hash, randomBytes } from 'node:crypto';

/** The only place that makes chance. Handed in, so that a simulated service can be replayed from a seed. */
export type Chance = {
  /** A number from 0 (inclusive) to 1 (exclusive); spreads retries, decides nothing secret. */
  fraction(): number;
  /** Unguessable bytes. */
  bytes(count: number): Uint8Array;
};

export const systemChance: Chance = {
  fraction: () => Math.random(),
  bytes: (count) => randomBytes(count),
};

/** What every API key begins with, so that a leaked one is recognised by secret scanners. */
export const API_KEY_PREFIX = 'carillon_';

/** A new API key: 256 bits of chance behind the prefix. Shown once; only its hash is stored. */
export function newApiKey(chance: Chance): string {
  return API_KEY_PREFIX + Buffer.from(chance.bytes(32)).toString('base64url');
}

/** What is stored of an API key. A plain hash is enough: 256 bits cannot be guessed, so nothing needs to be slow. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'base64url');
}

/** What the service-wide uniqueness of a target is kept by (C12); equal for equal normalised addresses. */
export function hashTarget(normalisedUrl: string): string {
  return hash('sha256', normalisedUrl, 'base64url');
}
