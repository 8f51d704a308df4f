import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_COLORS = 256;

type Image = { readonly width: number; readonly height: number; readonly channels: number; readonly bytes: Buffer };

/**
 * Converts a PNG to a palette, which makes screenshots about a third as large. With more than 256 colors, the most
 * frequent ones are kept and the others are replaced by the nearest of them.
 *
 * @param png 8 bits per channel, RGB or RGBA; transparency is dropped
 */
export function withPalette(png: Buffer): Buffer {
  const { width, height, channels, bytes } = decode(png);
  const colorAt = (at: number) => ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  const counts = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += channels) {
    counts.set(colorAt(at), (counts.get(colorAt(at)) ?? 0) + 1);
  }
  const palette = [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_COLORS)
    .map(([color]) => color);
  const paletteIndexes = new Map([...counts.keys()].map((color) => [color, nearest(palette, color)]));
  // Each scanline begins with its filter type: 0, none.
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      lines[y * (width + 1) + 1 + x] = paletteIndexes.get(colorAt((y * width + x) * channels)) ?? 0;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 0xff, color & 0xff]));
  const data = deflateSync(lines, { level: 9, memLevel: 9 });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', colors),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function nearest(palette: readonly number[], color: number): number {
  const exact = palette.indexOf(color);
  if (exact >= 0) return exact;
  const distance = (other: number) =>
    [16, 8, 0].reduce((sum, shift) => sum + (((other >> shift) & 0xff) - ((color >> shift) & 0xff)) ** 2, 0);
  return palette.reduce((best, other, at) => (distance(other) < distance(palette[best] ?? 0) ? at : best), 0);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)]);
}

function decode(png: Buffer): Image {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return { width, height, channels, bytes: unfiltered(inflateSync(Buffer.concat(parts)), width * channels, channels) };
}

/**
 * Reverses the PNG filters: each byte is stored as the difference to a prediction from its left and upper
 * neighbors.
 */
function unfiltered(lines: Buffer, stride: number, channels: number): Buffer {
  const height = lines.length / (stride + 1);
  const bytes = Buffer.alloc(height * stride);
  for (let y = 0; y < height; y += 1) {
    const filter = lines[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x < channels ? 0 : (bytes[at - channels] ?? 0);
      const up = y === 0 ? 0 : (bytes[at - stride] ?? 0);
      const corner = x < channels || y === 0 ? 0 : (bytes[at - stride - channels] ?? 0);
      const prediction = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      bytes[at] = ((lines[y * (stride + 1) + 1 + x] ?? 0) + prediction) & 0xff;
    }
  }
  return bytes;
}

function paeth(left: number, up: number, corner: number): number {
  const prediction = left + up - corner;
  const [toLeft, toUp, toCorner] = [left, up, corner].map((one) => Math.abs(prediction - one)) as [
    number,
    number,
    number,
  ];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}
