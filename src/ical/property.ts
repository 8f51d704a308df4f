import type { Line } from './line-reader.ts';

/** A parsed content line (RFC 5545, 3.1). Names are in upper case. */
export type Property = {
  readonly line: number;
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly value: string;
};

const NAME = /^[\w.-]{1,128}/;

/** Parses a content line; undefined if it has no name or no colon. */
export function propertyIn({ number, text }: Line): Property | undefined {
  const [name] = NAME.exec(text) ?? [];
  if (name === undefined) return undefined;
  const parameters = new Map<string, string>();
  let at = name.length;
  while (text[at] === ';') {
    const end = endOfParameter(text, at + 1);
    const [key = '', ...values] = text.slice(at + 1, end).split('=');
    parameters.set(key.trim().toUpperCase(), unquoted(values.join('=')));
    at = end;
  }
  if (text[at] !== ':') return undefined;
  return { line: number, name: name.toUpperCase(), parameters, value: text.slice(at + 1) };
}

/** End of a parameter: the next `;` or `:` outside of quotes. An unclosed quote is taken literally. */
function endOfParameter(text: string, from: number, knowsQuotes = true): number {
  let isQuoted = false;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') isQuoted = knowsQuotes && !isQuoted;
    else if (!isQuoted && (character === ';' || character === ':')) return at;
  }
  return isQuoted ? endOfParameter(text, from, false) : text.length;
}

function unquoted(value: string): string {
  return value.trim().replace(/^"/, '').replace(/"$/, '');
}

/** The value of type TEXT, unescaped. */
export function textOf({ value }: Property): string {
  return value.replace(/\\([\\;,nN])/g, (_all, character: string) => (/n/i.test(character) ? '\n' : character));
}
