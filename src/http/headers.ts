import type { IncomingMessage } from 'node:http';

/** Every value that a header was given, one for each line; Node itself would join or drop repeated ones. */
export function headerLines(request: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  const lines: string[] = [];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (request.rawHeaders[index]?.toLowerCase() === name) lines.push(request.rawHeaders[index + 1] ?? '');
  }
  return lines;
}
