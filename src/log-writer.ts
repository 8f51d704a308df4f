import { writeSync } from 'node:fs';
import { styleText } from 'node:util';
import { type Clock, systemClock } from './clock.ts';
import { toPrintable, toPrintableJson } from './control-characters.ts';

/** Maximum number of characters that are buffered for a slow reader of the log. Further lines are dropped. */
const MAX_BUFFERED_LENGTH = 1_024 * 1_024;

/** Delay before the next write when the reader's buffer is full. */
const RETRY_DELAY_MS = 10;

/** Color depth, in bits, up to which a terminal counts as monochrome and gets no colors. */
const MAX_MONOCHROME_DEPTH_BITS = 2;

/** Writes as many of the bytes as fit now, and returns their number. */
type WriteBytes = (bytes: Uint8Array) => number;

/** Formats one JSON log entry, without line end, as the text that is printed. Escapes control characters. */
type FormatLine = (json: string) => string;

/**
 * Buffers log lines and writes them once per event-loop iteration, because a system call per line would make requests
 * noticeably slower. Logging never fails a request: a line that cannot be written is dropped.
 */
export class LogWriter {
  readonly #writeBytes: WriteBytes;
  readonly #clock: Clock;
  readonly #formatLine: FormatLine;
  #bufferedLines: string[] = [];
  /** Bytes that the last write did not accept. They may begin in the middle of a multi-byte character. */
  #unwrittenBytes: Uint8Array = new Uint8Array();
  /** Size of the buffered lines (in characters) and of the unwritten bytes, for MAX_BUFFERED_LENGTH. */
  #bufferedLength = 0;
  #cancelFlush: (() => void) | undefined;

  constructor(writeBytes: WriteBytes, clock: Clock, formatLine: FormatLine = toPrintableJson) {
    this.#writeBytes = writeBytes;
    this.#clock = clock;
    this.#formatLine = formatLine;
  }

  /** Buffers one log line: JSON that ends with a line end. */
  write(line: string): void {
    const printableLine = `${this.#formatLine(line.slice(0, -1))}\n`;
    if (this.#bufferedLength + printableLine.length > MAX_BUFFERED_LENGTH) return;
    this.#bufferedLines.push(printableLine);
    this.#bufferedLength += printableLine.length;
    if (this.#cancelFlush !== undefined) return;
    const immediate = setImmediate(() => this.flushSync());
    this.#cancelFlush = () => clearImmediate(immediate);
  }

  /** Writes the buffered lines. Bytes that the reader does not accept yet stay buffered. */
  flushSync(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#bufferedLength === 0) return;
    const bufferedBytes = Buffer.from(this.#bufferedLines.join(''));
    this.#bufferedLines = [];
    this.#unwrittenBytes = this.#writeAvailable(
      this.#unwrittenBytes.length === 0 ? bufferedBytes : Buffer.concat([this.#unwrittenBytes, bufferedBytes]),
    );
    this.#bufferedLength = this.#unwrittenBytes.length;
    if (this.#bufferedLength > 0) this.#cancelFlush = this.#clock.after(RETRY_DELAY_MS, () => this.flushSync());
  }

  /**
   * Writes as many bytes as the reader accepts, and returns the remaining bytes for a retry. After any error except a
   * full buffer, the remaining bytes are dropped.
   */
  #writeAvailable(bytes: Uint8Array): Uint8Array {
    let writtenByteCount = 0;
    try {
      while (writtenByteCount < bytes.length) writtenByteCount += this.#writeBytes(bytes.subarray(writtenByteCount));
    } catch (error) {
      const isBufferFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isBufferFull) return new Uint8Array();
    }
    return bytes.subarray(writtenByteCount);
  }
}

type LogEntry = {
  readonly level: number;
  readonly time: string;
  readonly event?: unknown;
  readonly msg?: unknown;
  readonly err?: { readonly message?: unknown; readonly stack?: unknown };
  readonly [field: string]: unknown;
};

type Color = 'dim' | 'red' | 'yellow';

const LOG_LEVELS: Readonly<Record<number, { readonly name: string; readonly color?: Color }>> = {
  10: { name: 'TRACE', color: 'dim' },
  20: { name: 'DEBUG', color: 'dim' },
  30: { name: 'INFO' },
  40: { name: 'WARN', color: 'yellow' },
  50: { name: 'ERROR', color: 'red' },
  60: { name: 'FATAL', color: 'red' },
};

/**
 * Formats a log line for a terminal: local time, level, event, message and fields, then the stack of an error. Example:
 * `10:14:03.512 INFO  request method=GET route=/v2/events status=200 ms=4.1`
 */
export function formatTerminalLine(json: string, hasColors: boolean): string {
  const { level, time, event, msg, err, ...fields } = JSON.parse(json) as LogEntry;
  const colorize = (text: string, color: Color | undefined) =>
    hasColors && color !== undefined ? styleText(color, text, { validateStream: false }) : text;
  const { name, color } = LOG_LEVELS[level] ?? { name: String(level) };
  const localTime = new Date(time);
  const timeText = `${localTime.toTimeString().slice(0, 8)}.${String(localTime.getMilliseconds()).padStart(3, '0')}`;
  const fieldTexts = Object.entries(fields).map(
    ([field, value]) => `${colorize(`${field}=`, 'dim')}${formatFieldValue(value)}`,
  );
  const messageParts = [event, msg, err?.message]
    .filter((word) => word !== undefined)
    .map((word) => toPrintable(String(word)));
  const line = [colorize(timeText, 'dim'), colorize(name.padEnd(5), color), ...messageParts, ...fieldTexts].join(' ');
  // Skip the first line of the stack, which repeats the message.
  const stackLines = typeof err?.stack === 'string' ? err.stack.split('\n').slice(1) : [];
  return [line, ...stackLines.map((stackLine) => colorize(`  ${toPrintable(stackLine)}`, 'dim'))].join('\n');
}

/** Formats the value of a field. Text with blanks or quotes is quoted, so that the end of each value is visible. */
function formatFieldValue(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value)
    ? toPrintable(value)
    : toPrintableJson(JSON.stringify(value));
}

let standardErrorWriter: LogWriter | undefined;

/**
 * Returns the log writer of this process: JSON on standard error, or text if that is a terminal. It is flushed when the
 * process exits.
 */
export function getStandardErrorWriter(): LogWriter {
  if (standardErrorWriter === undefined) {
    const { stderr } = process;
    const hasColors = stderr.isTTY && stderr.getColorDepth() > MAX_MONOCHROME_DEPTH_BITS;
    const formatLine = stderr.isTTY ? (json: string) => formatTerminalLine(json, hasColors) : toPrintableJson;
    const writer = new LogWriter((bytes) => writeSync(2, bytes), systemClock, formatLine);
    process.on('exit', () => writer.flushSync());
    standardErrorWriter = writer;
  }
  return standardErrorWriter;
}
