import type { IncomingMessage } from 'node:http';

/** Every value that a header was given, one for each line; Node itself would join or drop repeated ones. */
export function headerLines(request: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  const lines: string[] = [];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (isNamed(request.rawHeaders[index], name)) lines.push(request.rawHeaders[index + 1] ?? '');
  }
  return lines;
}

/** Whether a header has this name, which is in lower case. Most have another length: every call asks this many times. */
export function isNamed(header: string | undefined, name: string): boolean {
  return header !== undefined && header.length === name.length && header.toLowerCase() === name;
}
