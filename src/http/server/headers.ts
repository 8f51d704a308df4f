import type { IncomingMessage } from 'node:http';

/** All values of a header, one for each line. Node's `headers` joins or drops repeated ones. */
export function headerLines(request: Pick<IncomingMessage, 'rawHeaders'>, name: string): string[] {
  const lines: string[] = [];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    if (isNamed(request.rawHeaders[index], name)) lines.push(request.rawHeaders[index + 1] ?? '');
  }
  return lines;
}

/** Whether a header has this lower-case name. Hot path: compares the lengths first. */
export function isNamed(header: string | undefined, name: string): boolean {
  return header !== undefined && header.length === name.length && header.toLowerCase() === name;
}
