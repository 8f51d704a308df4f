// The subset of DER (ITU-T X.690) that certificates need. Each value is encoded as tag, length, content.

export function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length > 0xffff) throw new RangeError('a certificate is shorter than 64 KiB');
  const longLength = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...longLength]), content]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts);
export const octetString = (...parts: readonly Uint8Array[]): Buffer => tagged(0x04, ...parts);
export const booleanTrue = (): Buffer => tagged(0x01, Buffer.from([0xff]));

/** @param unusedBits how many bits at the end of the last byte are padding */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Buffer => tagged(0x03, Buffer.from([unusedBits]), bytes);

/** Encodes an unsigned big-endian integer in the minimal length. A leading zero byte keeps it from being negative. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const minimal = first < 0 ? bytes.subarray(-1) : bytes.subarray(first);
  return tagged(0x02, (minimal[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), minimal);
}

/** @param dotted the dotted form: `1.2.840.10045.4.3.2` */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const base128 = (value: number): number[] => {
    const bytes = [value & 0x7f];
    for (let left = value >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
    return bytes;
  };
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** X.509 requires UTCTime, with a two-digit year, from 1950 to 2049, and GeneralizedTime for other years. */
export function time(timestamp: number): Buffer {
  const text = `${new Date(timestamp).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  const isUtcTime = text >= '1950' && text < '2050';
  return isUtcTime ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text));
}
