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

/** Thrown if the remainder, which is the JSON without the streamed text, is larger than allowed. */
export class RemainderTooLargeError extends Error {}

/**
 * Extracts the text of one top-level field from JSON while the body arrives, so that the whole text is never in memory.
 * The remainder is the JSON with a placeholder instead of the text: the first characters of the text without leading
 * whitespace, or an empty string if the text is not well-formed Unicode.
 */
export class StreamedFieldExtractor {
  readonly #fieldName: string;
  readonly #maxRemainderBytes: number;
  readonly #remainder = new GrowingBuffer();
  #depth = 0;
  #isTopLevelObject = false;
  /** Whether the next string at depth 1 is a field name. */
  #isNameNext = false;
  /** Whether the next value at depth 1 belongs to the streamed field. */
  #isStreamedValueNext = false;
  /** The string in which the scan is: none, a top-level field name, the streamed text, or any other string. */
  #stringKind: 'none' | 'name' | 'other' | 'text' = 'none';
  /** Whether the previous byte was a backslash that begins an escape. */
  #isEscaped = false;
  #nameBytes: number[] = [];
  /** An incomplete escape sequence at the end of the previous chunk. */
  #carriedBytes = Buffer.of();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #pendingSurrogate = '';
  #isTextWellFormed = true;
  #placeholder = '';
  /** Offset of the placeholder in the remainder; undefined until the field is found. */
  #placeholderOffset: number | undefined;

  constructor(fieldName: string, maxRemainderBytes: number) {
    this.#fieldName = fieldName;
    this.#maxRemainderBytes = maxRemainderBytes;
  }

  /**
   * Scans the next chunk and returns the decoded part of the streamed text that the chunk contains.
   *
   * @throws SyntaxError or TypeError if the input is malformed; RemainderTooLargeError if the remainder is too large
   */
  push(chunk: Buffer): string {
    const bytes = this.#carriedBytes.length === 0 ? chunk : Buffer.concat([this.#carriedBytes, chunk]);
    this.#carriedBytes = Buffer.of();
    let text = '';
    let [position, segmentStart] = [0, 0];
    while (position < bytes.length) {
      if (!this.#isInText) {
        position = this.#scanToText(bytes, position);
        if (!this.#isInText) break;
        this.#addToRemainder(bytes.subarray(segmentStart, position));
        segmentStart = position;
        this.#placeholderOffset = this.#remainder.length;
        continue;
      }
      const { end, isTextComplete } = findTextEnd(bytes, position);
      text += this.#decodeText(bytes.subarray(position, end), isTextComplete);
      segmentStart = end;
      if (!isTextComplete) break;
      this.#stringKind = 'none';
      position = end + 1;
    }
    if (this.#isInText) this.#carriedBytes = Buffer.from(bytes.subarray(segmentStart));
    else this.#addToRemainder(bytes.subarray(segmentStart));
    return text;
  }

  /** Returns the remainder with the placeholder. Throws SyntaxError if the text is not terminated. */
  finish(): Buffer {
    if (this.#isInText) throw new SyntaxError('The text is not terminated.');
    const remainder = this.#remainder.bytes();
    if (this.#placeholderOffset === undefined) return remainder;
    const placeholder = JSON.stringify(this.#isTextWellFormed ? this.#placeholder : '').slice(1, -1);
    return Buffer.concat([
      remainder.subarray(0, this.#placeholderOffset),
      Buffer.from(placeholder),
      remainder.subarray(this.#placeholderOffset),
    ]);
  }

  get #isInText(): boolean {
    return this.#stringKind === 'text';
  }

  #addToRemainder(bytes: Buffer): void {
    if (this.#remainder.length + bytes.length > this.#maxRemainderBytes) throw new RemainderTooLargeError();
    this.#remainder.append(bytes);
  }

  /**
   * Scans the bytes up to the streamed text, and returns the position at which the text begins. If no text begins, the
   * scan ends at the end of the bytes, or one byte after the size limit of the remainder.
   */
  #scanToText(bytes: Buffer, begin: number): number {
    const end = Math.min(bytes.length, begin + this.#maxRemainderBytes - this.#remainder.length + 1);
    for (let position = begin; position < end; position += 1) {
      const byte = bytes[position] ?? 0;
      if (this.#stringKind === 'none') {
        if (this.#consumeStructuralByte(byte)) return position + 1;
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

  /** Updates the state for a byte outside of strings. Returns whether the streamed text begins after this byte. */
  #consumeStructuralByte(byte: number): boolean {
    if (byte === QUOTE) return this.#beginString();
    if (byte === BEGIN_OBJECT || byte === BEGIN_LIST) {
      this.#depth += 1;
      if (this.#depth === 1) [this.#isTopLevelObject, this.#isNameNext] = [byte === BEGIN_OBJECT, true];
    } else if (byte === END_OBJECT || byte === END_LIST) this.#depth -= 1;
    else if (this.#depth !== 1) return false;
    else if (byte === COMMA) [this.#isNameNext, this.#isStreamedValueNext] = [true, false];
    else if (byte === COLON) this.#isNameNext = false;
    return false;
  }

  /** Begins a string. Returns whether it is the streamed text. */
  #beginString(): boolean {
    const isTopLevel = this.#depth === 1 && this.#isTopLevelObject;
    const isStreamedText = isTopLevel && !this.#isNameNext && this.#isStreamedValueNext;
    if (isStreamedText && this.#placeholderOffset !== undefined) throw new SyntaxError('The field is repeated.');
    this.#stringKind = isStreamedText ? 'text' : isTopLevel && this.#isNameNext ? 'name' : 'other';
    this.#nameBytes = [];
    return isStreamedText;
  }

  #endString(): void {
    if (this.#stringKind === 'name') this.#isStreamedValueNext = decodeFieldName(this.#nameBytes) === this.#fieldName;
    this.#stringKind = 'none';
  }

  #decodeText(bytes: Buffer, isTextComplete: boolean): string {
    const escapedText = this.#decoder.decode(bytes, { stream: !isTextComplete });
    const decodedText: string = this.#pendingSurrogate + JSON.parse(`"${escapedText}"`);
    // Keep back the first half of a surrogate pair until the second half arrives.
    const endsInHighSurrogate = !isTextComplete && /[\ud800-\udbff]$/.test(decodedText);
    this.#pendingSurrogate = endsInHighSurrogate ? decodedText.slice(-1) : '';
    const text = endsInHighSurrogate ? decodedText.slice(0, -1) : decodedText;
    this.#isTextWellFormed &&= text.isWellFormed();
    if (this.#placeholder.length < MAX_PLACEHOLDER_LENGTH)
      this.#placeholder = (this.#placeholder + text).trimStart().slice(0, MAX_PLACEHOLDER_LENGTH);
    return text;
  }
}

/**
 * Decodes a field name from its bytes in JSON. The JSON parser is used only for a name with an escape, because it is
 * slow for thousands of names.
 */
function decodeFieldName(bytes: readonly number[]): unknown {
  const name = Buffer.from(bytes).toString();
  return bytes.includes(BACKSLASH) ? JSON.parse(`"${name}"`) : name;
}

/**
 * Returns where the text ends in these bytes: at the closing quote (the text is complete), the first incomplete escape,
 * or the end of the bytes.
 */
function findTextEnd(bytes: Buffer, begin: number): { readonly end: number; readonly isTextComplete: boolean } {
  let quoteIndex = bytes.indexOf(QUOTE, begin);
  let backslashIndex = bytes.indexOf(BACKSLASH, begin);
  while (backslashIndex !== -1 && (quoteIndex === -1 || backslashIndex < quoteIndex)) {
    const escapeEnd = backslashIndex + (bytes[backslashIndex + 1] === LOWER_U ? 6 : 2);
    if (escapeEnd > bytes.length) return { end: backslashIndex, isTextComplete: false };
    if (quoteIndex !== -1 && quoteIndex < escapeEnd) quoteIndex = bytes.indexOf(QUOTE, escapeEnd);
    backslashIndex = bytes.indexOf(BACKSLASH, escapeEnd);
  }
  return quoteIndex === -1 ? { end: bytes.length, isTextComplete: false } : { end: quoteIndex, isTextComplete: true };
}
