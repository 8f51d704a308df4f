// DER (X.690), as much of it as a certificate takes: a tag, a length, a value.

export function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), value]);
  if (length > 0xffff) throw new RangeError('longer than any certificate');
  const written = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...written]), value]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts);
export const octets = (...parts: readonly Uint8Array[]): Buffer => tagged(0x04, ...parts);
export const truth = (): Buffer => tagged(0x01, Buffer.from([0xff]));

/** Whole bytes; `unused` bits at the end of the last are none. */
export const bits = (bytes: Uint8Array, unused = 0): Buffer => tagged(0x03, Buffer.from([unused]), bytes);

/** From its bytes, the highest first, in as few as say it; a bit that would make it negative is kept from that. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const least = first < 0 ? bytes.subarray(-1) : bytes.subarray(first);
  return tagged(0x02, (least[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), least);
}

/** `1.2.840.10045.4.3.2` */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const inSevens = (value: number): number[] => {
    const bytes = [value & 0x7f];
    for (let left = value >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
    return bytes;
  };
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(inSevens)]));
}

/** X.509 writes the years from 1950 to 2049 with two digits, and no other form of those. */
export function moment(at: number): Buffer {
  const text = `${new Date(at).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  const short = text >= '1950' && text < '2050';
  return short ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text));
}
