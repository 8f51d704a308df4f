import { GrowingBuffer } from './growing-buffer.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const [BEGIN_LIST, END_LIST, BEGIN_OBJECT, END_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const LOWER_U = 0x75;

/** Longer names of fields are not looked at. */
const MAX_NAME_BYTES = 128;

/** The stand-in of a text begins as the text does, as far as this. */
const STAND_IN_LENGTH = 16;

/** A field whose text is long. */
export type LongField = {
  readonly name: string;
  /** The most bytes of the whole body. */
  readonly maxBytes: number;
};

/** The JSON has more beside its long text than it may have. */
export class RestTooLarge extends Error {}

/**
 * Takes the text of one field out of a JSON object while it arrives, so that it need not be held in memory. Left is the same
 * JSON with a stand-in for the text: its beginning without leading blanks, or nothing where it is no well-formed text.
 */
export class LongText {
  readonly #field: string;
  readonly #maxRestBytes: number;
  readonly #rest = new GrowingBuffer();
  #depth = 0;
  #isObject = false;
  /** The next string at depth 1 is a name; it is the value of the field. */
  #isNameNext = false;
  #isFieldNext = false;
  #string: 'none' | 'name' | 'other' | 'text' = 'none';
  /** The byte before began an escape. */
  #isEscaped = false;
  #name: number[] = [];
  /** The end of a piece that is half of an escape. */
  #carry = Buffer.of();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #surrogate = '';
  #isWellFormed = true;
  #standIn = '';
  /** How many bytes of the rest stand before the stand-in; undefined where the field has not been met. */
  #standInAt: number | undefined;

  constructor(field: string, maxRestBytes: number) {
    this.#field = field;
    this.#maxRestBytes = maxRestBytes;
  }

  /**
   * Takes the next piece, and gives back what it has of the text, decoded.
   *
   * @throws SyntaxError, TypeError or RestTooLarge
   */
  push(piece: Buffer): string {
    const bytes = this.#carry.length === 0 ? piece : Buffer.concat([this.#carry, piece]);
    this.#carry = Buffer.of();
    let text = '';
    let [at, from] = [0, 0];
    while (at < bytes.length) {
      if (!this.#isInText) {
        at = this.#skim(bytes, at);
        if (!this.#isInText) break;
        this.#keep(bytes.subarray(from, at));
        from = at;
        this.#standInAt = this.#rest.length;
        continue;
      }
      const { end, isLast } = endOfText(bytes, at);
      text += this.#decode(bytes.subarray(at, end), isLast);
      from = end;
      if (!isLast) break;
      this.#string = 'none';
      at = end + 1;
    }
    if (this.#isInText) this.#carry = Buffer.from(bytes.subarray(from));
    else this.#keep(bytes.subarray(from));
    return text;
  }

  /** The rest of the JSON, with the stand-in. */
  end(): Buffer {
    if (this.#isInText) throw new SyntaxError('The text does not end.');
    const rest = this.#rest.bytes();
    if (this.#standInAt === undefined) return rest;
    const standIn = JSON.stringify(this.#isWellFormed ? this.#standIn : '').slice(1, -1);
    return Buffer.concat([rest.subarray(0, this.#standInAt), Buffer.from(standIn), rest.subarray(this.#standInAt)]);
  }

  get #isInText(): boolean {
    return this.#string === 'text';
  }

  #keep(bytes: Buffer): void {
    if (this.#rest.length + bytes.length > this.#maxRestBytes) throw new RestTooLarge();
    this.#rest.add(bytes);
  }

  /** Goes on until the text begins, and answers where that is, or to the end. */
  #skim(bytes: Buffer, begin: number): number {
    for (let at = begin; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (this.#string === 'none') {
        if (this.#beginsText(byte)) return at + 1;
        continue;
      }
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#endString();
        continue;
      }
      if (this.#string === 'name' && this.#name.length < MAX_NAME_BYTES) this.#name.push(byte);
    }
    return bytes.length;
  }

  /** Takes a byte outside of strings; answers whether the text begins behind it. */
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
    if (isText && this.#standInAt !== undefined) throw new SyntaxError('The field stands twice.');
    this.#string = isText ? 'text' : isTop && this.#isNameNext ? 'name' : 'other';
    this.#name = [];
    return isText;
  }

  #endString(): void {
    if (this.#string === 'name') {
      const name: unknown = JSON.parse(`"${Buffer.from(this.#name).toString()}"`);
      this.#isFieldNext = name === this.#field;
    }
    this.#string = 'none';
  }

  #decode(bytes: Buffer, isLast: boolean): string {
    const escaped = this.#decoder.decode(bytes, { stream: !isLast });
    const decoded: string = this.#surrogate + JSON.parse(`"${escaped}"`);
    // One half of a pair waits for the other.
    const isHalf = !isLast && /[\ud800-\udbff]$/.test(decoded);
    this.#surrogate = isHalf ? decoded.slice(-1) : '';
    const text = isHalf ? decoded.slice(0, -1) : decoded;
    this.#isWellFormed &&= text.isWellFormed();
    if (this.#standIn.length < STAND_IN_LENGTH)
      this.#standIn = (this.#standIn + text).trimStart().slice(0, STAND_IN_LENGTH);
    return text;
  }
}

/** The end of a text in its closing quote, or as far as its escapes are complete. */
function endOfText(bytes: Buffer, begin: number): { readonly end: number; readonly isLast: boolean } {
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
