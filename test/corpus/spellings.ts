/**
 * Returns spellings of an IPv4 address in a URL: forms that the WHATWG host parser accepts, Unicode digits, and IPv6
 * addresses that embed the IPv4 address.
 */
export function ipv4Spellings(ipv4: string): readonly string[] {
  const bytes = ipv4.split('.').map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const value32 = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = value32.toString(16).padStart(8, '0');
  const hexGroups = `${hex.slice(0, 4)}:${hex.slice(4)}`;
  const invertedHex = (0xffffffff - value32).toString(16).padStart(8, '0');
  const octal = (byte: number) => `0${byte.toString(8)}`;
  const withDigitsFrom = (zero: number) => ipv4.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
  return [
    ipv4,
    `${ipv4}.`,
    String(value32),
    `${value32}.`,
    `0x${hex}`,
    `0X${hex.toUpperCase()}`,
    `0${value32.toString(8)}`,
    bytes.map(octal).join('.'),
    bytes.map((byte) => `000${octal(byte)}`).join('.'),
    bytes.map((byte) => `0x${byte.toString(16)}`).join('.'),
    `0x${a.toString(16)}.${octal(b)}.${c}.${d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${a.toString(16)}.0x${((b * 256 + c) * 256 + d).toString(16)}`,
    withDigitsFrom(0xff10), // fullwidth digits
    withDigitsFrom(0x1d7ce), // mathematical bold digits
    withDigitsFrom(0x1d7d8), // mathematical double-struck digits
    ipv4.replaceAll('.', '。'),
    ipv4.replaceAll('.', '．'),
    ipv4.replaceAll('.', '｡'),
    ipv4.replaceAll('.', '%2E'),
    ipv4.replace(/\d/g, (digit) => `%3${digit}`),
    ipv4.replace('.', '\u00ad.'), // soft hyphen, removed from names
    ipv4.replace('.', '\u200b.'), // zero-width space, also removed from names
    `[::ffff:${ipv4}]`,
    `[::FFFF:${hexGroups.toUpperCase()}]`,
    `[0000:0000:0000:0000:0000:ffff:${hexGroups}]`,
    `[0:0:0:0:0:FFFF:${ipv4}]`,
    `[::${ipv4}]`,
    `[::ffff:0:${ipv4}]`,
    `[64:ff9b::${ipv4}]`,
    `[64:FF9B:0:0:0:0:${hexGroups}]`,
    `[64:ff9b:1::${ipv4}]`,
    `[2002:${hexGroups}::]`,
    `[2002:${hexGroups}:1::abcd]`,
    `[2001:0:${hexGroups}::f7f7:f7f7]`, // Teredo server
    `[2001:0:808:808:8000:63bf:${invertedHex.slice(0, 4)}:${invertedHex.slice(4)}]`, // Teredo client
    `[2606:4700::5efe:${ipv4}]`,
    `[2a00:1450:4001:81b:200:5efe:${hexGroups}]`,
    `[fe80::5efe:${ipv4}]`,
  ];
}
