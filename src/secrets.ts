import { hash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { type FairLimits, FairSemaphore } from './async/fair-semaphore.ts';

/** The only place that makes chance. Handed in, so that a simulated service can be replayed from a seed. */
export type Random = {
  /** A number from 0 (inclusive) to 1 (exclusive); spreads retries, decides nothing secret. */
  fraction(): number;
  /** Unguessable bytes. */
  bytes(count: number): Uint8Array;
};

export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (count) => randomBytes(count),
};

/** What every API key begins with, so that a leaked one is recognised by secret scanners. */
export const API_KEY_PREFIX = 'carillon_';

/** A new API key: 256 bits of chance behind the prefix. Shown once; only its hash is stored. */
export function newApiKey(random: Random): string {
  return API_KEY_PREFIX + Buffer.from(random.bytes(32)).toString('base64url');
}

/** What is stored of an API key. A plain hash is enough: 256 bits cannot be guessed, so nothing needs to be slow. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'base64url');
}

/** What the service-wide uniqueness of a target is kept by (C12); equal for equal normalised addresses. */
export function hashTarget(normalisedUrl: string): string {
  return hash('sha256', normalisedUrl, 'base64url');
}

/** What every secret that signs begins with, as Standard Webhooks has it. */
export const SIGNING_SECRET_PREFIX = 'whsec_';

/** A new secret that notifications of a hook are signed by (X8): 256 bits of chance behind the prefix. */
export function newSigningSecret(random: Random): string {
  return SIGNING_SECRET_PREFIX + Buffer.from(random.bytes(32)).toString('base64');
}

/** A new secret of a session or of a link: 256 bits of chance. Only its hash is stored. */
export function newToken(random: Random): string {
  return Buffer.from(random.bytes(32)).toString('base64url');
}

/** What is stored of a token; as with keys, a plain hash is enough. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** How dear a hash of a passphrase is: 2 to the power of `logN`, times `r` times 128 bytes of memory, `p` times over. */
export type Cost = { readonly logN: number; readonly r: number; readonly p: number };

/** 32 MiB, and a good part of a second of one core. What is stored says its own, so that this may rise. */
export const COST: Cost = { logN: 15, r: 8, p: 3 };

/** Of the four threads that file access and name resolution share with hashing, two stay free of it. */
const MAX_HASHES = 2;

/**
 * How many passphrases are hashed at once: one core is left to everything else. One network has at most half of the
 * permits and a quarter of the queue, so that a flood from one place keeps nobody else from signing in.
 */
export function hashLimits(cores: number): FairLimits {
  const maxActive = Math.min(Math.max(cores - 1, 1), MAX_HASHES);
  return { maxActive, maxActivePerGroup: Math.ceil(maxActive / 2), maxWaiting: 32, maxWaitingPerGroup: 8 };
}

const HASH_BYTES = 32;

const STORED = /^scrypt:(\d{1,2}):(\d{1,2}):(\d{1,2}):([\w-]+):([\w-]+)$/;

type Stored = { readonly cost: Cost; readonly salt: Uint8Array; readonly hash: Uint8Array };

/** Hashes passphrases, slowly, so that what is stored helps nobody to guess them. */
export class Passphrases {
  readonly #random: Random;
  readonly #cost: Cost;
  /** Compared with where there is nothing to compare with, so that this takes as long. */
  readonly #nobodys: Stored;
  readonly #turns: FairSemaphore<string>;

  constructor(random: Random, cost: Cost, limits = hashLimits(availableParallelism())) {
    this.#random = random;
    this.#cost = cost;
    this.#turns = new FairSemaphore(limits);
    this.#nobodys = { cost, salt: random.bytes(16), hash: random.bytes(HASH_BYTES) };
  }

  /**
   * What is stored of a passphrase.
   *
   * @param network the network of the request, as `networkOf` names it
   * @throws Problem `overloaded` when too many are waiting, of the network or of all
   */
  async hash(passphrase: string, network: string): Promise<string> {
    const salt = this.#random.bytes(16);
    const made = await this.#derive(passphrase, salt, this.#cost, network);
    const { logN, r, p } = this.#cost;
    return `scrypt:${logN}:${r}:${p}:${base64url(salt)}:${base64url(made)}`;
  }

  /** Whether a passphrase is the one that was stored; takes as long where nothing was. `overloaded`, as above. */
  async matches(passphrase: string, stored: string | undefined, network: string): Promise<boolean> {
    const { cost, salt, hash: wanted } = stored === undefined ? this.#nobodys : readStored(stored);
    const made = await this.#derive(passphrase, salt, cost, network);
    return timingSafeEqual(made, wanted) && stored !== undefined;
  }

  /** Whether a stored hash was cheaper to make than one would be now. */
  isOutdated(stored: string): boolean {
    const { logN, r, p } = readStored(stored).cost;
    return 2 ** logN * r * p < 2 ** this.#cost.logN * this.#cost.r * this.#cost.p;
  }

  #derive(passphrase: string, salt: Uint8Array, { logN, r, p }: Cost, network: string): Promise<Buffer> {
    const options = { N: 2 ** logN, r, p, maxmem: 256 * 2 ** logN * r };
    // One text however it was typed: keyboards differ in how they put signs together.
    const text = passphrase.normalize('NFKC');
    return this.#turns.run(network, () => scryptAsync(text, salt, HASH_BYTES, options));
  }
}

function scryptAsync(text: string, salt: Uint8Array, bytes: number, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(text, salt, bytes, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

function readStored(stored: string): Stored {
  const [, logN, r, p, salt = '', made = ''] = STORED.exec(stored) ?? [];
  if (made === '') throw new Error('what is stored is no hash of a passphrase');
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  return { cost, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(made, 'base64url') };
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
