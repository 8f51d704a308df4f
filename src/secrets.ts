import { hash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { FairSemaphore, type FairSemaphoreLimits } from './async/fair-semaphore.ts';

/** The only source of randomness. It is injected, so that a simulated service can be replayed from a seed. */
export type Random = {
  /** A number from 0 (inclusive) to 1 (exclusive), not cryptographically secure; used for jitter. */
  fraction(): number;
  /** Cryptographically secure random bytes. */
  bytes(count: number): Uint8Array;
};

export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (count) => randomBytes(count),
};

/** Prefix of every API key, so that secret scanners recognize a leaked key. */
const API_KEY_PREFIX = 'carillon_';

/** Creates an API key: the prefix and 256 random bits. Only its hash is stored. */
export function newApiKey(random: Random): string {
  return API_KEY_PREFIX + Buffer.from(random.bytes(32)).toString('base64url');
}

/**
 * Returns the hash of an API key, as it is stored. A fast hash is sufficient, because 256 random bits cannot be
 * guessed.
 */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'base64url');
}

/** Returns the hash of a target URL. Targets are unique by this hash, over all accounts (C12). */
export function hashTarget(normalizedUrl: string): string {
  return hash('sha256', normalizedUrl, 'base64url');
}

/** Prefix of every signing secret, as Standard Webhooks defines it. */
export const SIGNING_SECRET_PREFIX = 'whsec_';

/** Creates the secret that signs the webhooks of a hook: the prefix and 256 random bits (X8). */
export function newSigningSecret(random: Random): string {
  return SIGNING_SECRET_PREFIX + Buffer.from(random.bytes(32)).toString('base64');
}

/** Creates the token of a session or a link: 256 random bits. Only its hash is stored. */
export function newToken(random: Random): string {
  return Buffer.from(random.bytes(32)).toString('base64url');
}

/** Returns the hash of a token, as it is stored. A fast hash is sufficient, as for API keys. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** The cost parameters of scrypt: 2^logN × r × 128 bytes of memory, computed `p` times. */
export type ScryptCost = { readonly logN: number; readonly r: number; readonly p: number };

/**
 * The cost of a new hash: 32 MiB of memory and a large part of a second of CPU time. Each stored hash contains its own
 * cost, so the cost of new hashes can be increased later.
 */
export const SCRYPT_COST: ScryptCost = { logN: 15, r: 8, p: 3 };

/**
 * Maximum number of concurrent hashes: two of libuv's four threads, since file access and name resolution need the
 * others.
 */
const MAX_CONCURRENT_HASHES = 2;

/**
 * Returns limits for concurrent hashing that leave one core free. One network gets at most half of the permits and a
 * quarter of the queue, so that a flood of sign-ins from one network does not block other networks.
 */
export function computeHashLimits(coreCount: number): FairSemaphoreLimits {
  const maxActive = Math.min(Math.max(coreCount - 1, 1), MAX_CONCURRENT_HASHES);
  return { maxActive, maxActivePerGroup: Math.ceil(maxActive / 2), maxWaiting: 32, maxWaitingPerGroup: 8 };
}

const HASH_BYTES = 32;

const STORED_HASH_PATTERN = /^scrypt:(\d{1,2}):(\d{1,2}):(\d{1,2}):([\w-]+):([\w-]+)$/;

type StoredHash = { readonly cost: ScryptCost; readonly salt: Uint8Array; readonly hash: Uint8Array };

/** Hashes passphrases (the passwords of users) with scrypt, so that stolen hashes are expensive to crack. */
export class PassphraseHasher {
  readonly #random: Random;
  readonly #cost: ScryptCost;
  /** Replaces a missing stored hash in a comparison, so that the comparison takes the same time. */
  readonly #dummyHash: StoredHash;
  readonly #semaphore: FairSemaphore<string>;

  constructor(random: Random, cost: ScryptCost, semaphoreLimits = computeHashLimits(availableParallelism())) {
    this.#random = random;
    this.#cost = cost;
    this.#semaphore = new FairSemaphore(semaphoreLimits);
    this.#dummyHash = { cost, salt: random.bytes(16), hash: random.bytes(HASH_BYTES) };
  }

  /**
   * Returns the hash of a passphrase in its stored form.
   *
   * @param network the network of the request, as returned by `networkOf`
   * @throws Problem `overloaded` if too many hashes are queued, in total or for the network
   */
  async hash(passphrase: string, network: string): Promise<string> {
    const salt = this.#random.bytes(16);
    const derivedHash = await this.#deriveHash(passphrase, salt, this.#cost, network);
    const { logN, r, p } = this.#cost;
    return `scrypt:${logN}:${r}:${p}:${encodeBase64Url(salt)}:${encodeBase64Url(derivedHash)}`;
  }

  /**
   * Whether a passphrase matches a stored hash. Without a stored hash, returns false after the same time, so that the
   * time does not reveal which users exist. Throws like `hash`.
   */
  async matches(passphrase: string, storedHash: string | undefined, network: string): Promise<boolean> {
    const { cost, salt, hash: expectedHash } = storedHash === undefined ? this.#dummyHash : parseStoredHash(storedHash);
    const derivedHash = await this.#deriveHash(passphrase, salt, cost, network);
    return timingSafeEqual(derivedHash, expectedHash) && storedHash !== undefined;
  }

  /** Whether a stored hash has a lower cost than new hashes. */
  isOutdated(storedHash: string): boolean {
    const { logN, r, p } = parseStoredHash(storedHash).cost;
    return 2 ** logN * r * p < 2 ** this.#cost.logN * this.#cost.r * this.#cost.p;
  }

  #deriveHash(passphrase: string, salt: Uint8Array, { logN, r, p }: ScryptCost, network: string): Promise<Buffer> {
    const scryptOptions = { N: 2 ** logN, r, p, maxmem: 256 * 2 ** logN * r };
    // Normalize the text, because keyboards compose the same characters differently.
    const normalizedText = passphrase.normalize('NFKC');
    return this.#semaphore.runWithPermit(network, () => scryptAsync(normalizedText, salt, HASH_BYTES, scryptOptions));
  }
}

function scryptAsync(text: string, salt: Uint8Array, byteCount: number, scryptOptions: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(text, salt, byteCount, scryptOptions, (error, derivedKey) =>
      error === null ? resolve(derivedKey) : reject(error),
    );
  });
}

function parseStoredHash(storedHash: string): StoredHash {
  const [, logN, r, p, salt = '', hashText = ''] = STORED_HASH_PATTERN.exec(storedHash) ?? [];
  if (hashText === '') throw new Error('the stored text is no hash of a passphrase');
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  return { cost, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hashText, 'base64url') };
}

function encodeBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
