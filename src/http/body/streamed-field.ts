import { GrowingBuffer } from './temporary-file.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const [BEGIN_LIST, END_LIST, BEGIN_OBJECT, END_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const LOWER_U = 0x75;

/** Maximum number of buffered bytes of a field name. A longer name cannot match, so its rest is not buffered. */
const MAX_NAME_BYTES = 128;

/** Maximum length of the placeholder, which consists of the first characters of the text. */
const MAX_PLACEHOLDER_LENGTH = 16;

/** A text field of a request body that is streamed to a file. */
export type StreamedField = {
  readonly name: string;
  /** Maximum size of the whole body. */
  readonly maxBytes: number;
};

/** Thrown if the JSON without the streamed text is larger than allowed. */
export class RestTooLargeError extends Error {}

/**
 * Extracts the text of one top-level field from JSON while the body arrives, so that the whole text is never in memory.
 * The rest of the JSON contains a placeholder: the first characters of the text without leading whitespace, or an empty
 * string if the text is not well-formed Unicode.
 */
export class StreamedFieldExtractor {
  readonly #field: string;
  readonly #maxRestBytes: number;
  readonly #rest = new GrowingBuffer();
  #depth = 0;
  #isObject = false;
  /** Whether the next string at depth 1 is a field name. */
  #isNameNext = false;
  /** Whether the next value at depth 1 belongs to the streamed field. */
  #isFieldNext = false;
  #stringKind: 'none' | 'name' | 'other' | 'text' = 'none';
  /** Whether the previous byte was a backslash that begins an escape. */
  #isEscaped = false;
  #nameBytes: number[] = [];
  /** An incomplete escape sequence at the end of the previous chunk. */
  #carry = Buffer.of();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #surrogate = '';
  #isWellFormed = true;
  #placeholder = '';
  /** Position of the placeholder in the rest; undefined until the field was found. */
  #placeholderAt: number | undefined;

  constructor(field: string, maxRestBytes: number) {
    this.#field = field;
    this.#maxRestBytes = maxRestBytes;
  }

  /**
   * Processes the next chunk and returns the decoded part of the text in it.
   *
   * @throws SyntaxError, TypeError or RestTooLarge
   */
  push(chunk: Buffer): string {
    const bytes = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    this.#carry = Buffer.of();
    let text = '';
    let [at, from] = [0, 0];
    while (at < bytes.length) {
      if (!this.#isInText) {
        at = this.#scan(bytes, at);
        if (!this.#isInText) break;
        this.#addToRest(bytes.subarray(from, at));
        from = at;
        this.#placeholderAt = this.#rest.length;
        continue;
      }
      const { end, isLast } = findTextEnd(bytes, at);
      text += this.#decode(bytes.subarray(at, end), isLast);
      from = end;
      if (!isLast) break;
      this.#stringKind = 'none';
      at = end + 1;
    }
    if (this.#isInText) this.#carry = Buffer.from(bytes.subarray(from));
    else this.#addToRest(bytes.subarray(from));
    return text;
  }

  /** Returns the rest of the JSON with the placeholder. Throws SyntaxError if the text is not terminated. */
  end(): Buffer {
    if (this.#isInText) throw new SyntaxError('The text is not terminated.');
    const rest = this.#rest.bytes();
    if (this.#placeholderAt === undefined) return rest;
    const placeholder = JSON.stringify(this.#isWellFormed ? this.#placeholder : '').slice(1, -1);
    return Buffer.concat([
      rest.subarray(0, this.#placeholderAt),
      Buffer.from(placeholder),
      rest.subarray(this.#placeholderAt),
    ]);
  }

  get #isInText(): boolean {
    return this.#stringKind === 'text';
  }

  #addToRest(bytes: Buffer): void {
    if (this.#rest.length + bytes.length > this.#maxRestBytes) throw new RestTooLargeError();
    this.#rest.add(bytes);
  }

  /**
   * Scans the bytes up to the streamed text and returns where the text begins. If there is no text, the scan ends one
   * byte after the limit of the rest.
   */
  #scan(bytes: Buffer, begin: number): number {
    const end = Math.min(bytes.length, begin + this.#maxRestBytes - this.#rest.length + 1);
    for (let at = begin; at < end; at += 1) {
      const byte = bytes[at] ?? 0;
      if (this.#stringKind === 'none') {
        if (this.#beginsText(byte)) return at + 1;
        continue;
      }
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#endString();
        continue;
      }
      if (this.#stringKind === 'name' && this.#nameBytes.length < MAX_NAME_BYTES) this.#nameBytes.push(byte);
    }
    return end;
  }

  /** Processes a byte outside of strings. Returns whether the text begins after it. */
  #beginsText(byte: number): boolean {
    if (byte === QUOTE) return this.#beginString();
    if (byte === BEGIN_OBJECT || byte === BEGIN_LIST) {
      this.#depth += 1;
      if (this.#depth === 1) [this.#isObject, this.#isNameNext] = [byte === BEGIN_OBJECT, true];
    } else if (byte === END_OBJECT || byte === END_LIST) this.#depth -= 1;
    else if (this.#depth !== 1) return false;
    else if (byte === COMMA) [this.#isNameNext, this.#isFieldNext] = [true, false];
    else if (byte === COLON) this.#isNameNext = false;
    return false;
  }

  #beginString(): boolean {
    const isTop = this.#depth === 1 && this.#isObject;
    const isText = isTop && !this.#isNameNext && this.#isFieldNext;
    if (isText && this.#placeholderAt !== undefined) throw new SyntaxError('The field is repeated.');
    this.#stringKind = isText ? 'text' : isTop && this.#isNameNext ? 'name' : 'other';
    this.#nameBytes = [];
    return isText;
  }

  #endString(): void {
    if (this.#stringKind === 'name') this.#isFieldNext = decodeName(this.#nameBytes) === this.#field;
    this.#stringKind = 'none';
  }

  #decode(bytes: Buffer, isLast: boolean): string {
    const escaped = this.#decoder.decode(bytes, { stream: !isLast });
    const decoded: string = this.#surrogate + JSON.parse(`"${escaped}"`);
    // Keep back the first half of a surrogate pair until the second half arrives.
    const isHalf = !isLast && /[\ud800-\udbff]$/.test(decoded);
    this.#surrogate = isHalf ? decoded.slice(-1) : '';
    const text = isHalf ? decoded.slice(0, -1) : decoded;
    this.#isWellFormed &&= text.isWellFormed();
    if (this.#placeholder.length < MAX_PLACEHOLDER_LENGTH)
      this.#placeholder = (this.#placeholder + text).trimStart().slice(0, MAX_PLACEHOLDER_LENGTH);
    return text;
  }
}

/**
 * Decodes a field name from its bytes in JSON. Only a name with an escape needs the parser, which is slow for thousands
 * of names.
 */
function decodeName(bytes: readonly number[]): unknown {
  const name = Buffer.from(bytes).toString();
  return bytes.includes(BACKSLASH) ? JSON.parse(`"${name}"`) : name;
}

/**
 * Returns where the text ends in these bytes: at the closing quote, the first incomplete escape, or the end of the
 * bytes.
 */
function findTextEnd(bytes: Buffer, begin: number): { readonly end: number; readonly isLast: boolean } {
  let quote = bytes.indexOf(QUOTE, begin);
  let slash = bytes.indexOf(BACKSLASH, begin);
  while (slash !== -1 && (quote === -1 || slash < quote)) {
    const next = slash + (bytes[slash + 1] === LOWER_U ? 6 : 2);
    if (next > bytes.length) return { end: slash, isLast: false };
    if (quote !== -1 && quote < next) quote = bytes.indexOf(QUOTE, next);
    slash = bytes.indexOf(BACKSLASH, next);
  }
  return quote === -1 ? { end: bytes.length, isLast: false } : { end: quote, isLast: true };
}
