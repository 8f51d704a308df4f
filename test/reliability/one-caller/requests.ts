/** A raw HTTP request. */
export function request(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): string {
  const length = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${[`${method} ${path} HTTP/1.1`, 'host: carillon.test', ...lines, ...length].join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** A request whose body is announced and never sent. */
export function withoutBody(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  bytes: number,
): string {
  return request(method, path, { ...headers, 'content-length': String(bytes) });
}
