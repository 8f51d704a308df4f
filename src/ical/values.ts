import type { ContentLine } from './line-reader.ts';

export const SECOND_MS = 1_000;
export const DAY_MS = 86_400_000;

/** A date or time as written in a file. */
export type IcalTime = {
  /** Local time, in milliseconds since the epoch as if the time were in UTC. A date is represented by its midnight. */
  readonly wallMs: number;
  readonly isDate: boolean;
  /** `UTC` or a TZID of the file; undefined for dates and floating times. */
  readonly tzid: string | undefined;
  readonly lineNumber: number;
};

/** The context in which a time is written: the number of its line, and the zone and the value type of its property. */
type TimeContext = { readonly lineNumber: number; readonly tzid?: string | undefined; readonly isDate?: boolean };

/** A duration. `days` are calendar days, and `ms` is exact time (RFC 5545, 3.3.6). */
export type IcalDuration = { readonly days: number; readonly ms: number };

/** A time of RDATE, with an end if RDATE gives a period. */
export type IcalPeriod = { readonly start: IcalTime; readonly end: IcalTime | IcalDuration | undefined };

/** Matches a date or a time. A Z after a date is accepted, because some programs write it. */
const TIME_PATTERN = /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d))?(?:\.\d{1,9})?)?(Z)?$/i;

/** Returns midnight of a date, in milliseconds since the epoch; undefined if the date does not exist. */
function dateToMs(year: number, month: number, day: number): number | undefined {
  const midnightMs = new Date(0).setUTCFullYear(year, month - 1, day);
  const date = new Date(midnightMs);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? midnightMs : undefined;
}

/** Parses a date or time; undefined if it is invalid, such as 30 February. */
export function parseTime(text: string, { lineNumber, tzid, isDate = false }: TimeContext): IcalTime | undefined {
  const [fullMatch, year, month, day, hour, minute = '', second = '0', utcSuffix] =
    TIME_PATTERN.exec(text.trim()) ?? [];
  if (fullMatch === undefined) return undefined;
  const midnightMs = dateToMs(Number(year), Number(month), Number(day));
  if (midnightMs === undefined) return undefined;
  if (hour === undefined || isDate) return { wallMs: midnightMs, isDate: true, tzid: undefined, lineNumber };
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined;
  // Second 60, a leap second, becomes second 59.
  const secondOfDay = Number(hour) * 3_600 + Number(minute) * 60 + Math.min(Number(second), 59);
  return {
    wallMs: midnightMs + secondOfDay * SECOND_MS,
    isDate: false,
    tzid: utcSuffix === undefined ? tzid : 'UTC',
    lineNumber,
  };
}

/** Matches a duration. A T before weeks and days is accepted, because some programs write it. */
const DURATION_PATTERN = /^([+-])?P((?:T?\d{1,11}[WDHMS])+)$/i;

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600 * SECOND_MS, M: 60 * SECOND_MS, S: SECOND_MS };
const UNIT_DAYS: Readonly<Record<string, number>> = { W: 7, D: 1 };

/** Maximum length of a duration in days: the years 1 to 9999. */
const MAX_DURATION_DAYS = 3_652_059;

/** Parses a duration; undefined if it is invalid or too long. */
export function parseDuration(text: string): IcalDuration | undefined {
  const [, sign, parts] = DURATION_PATTERN.exec(text.trim().toUpperCase()) ?? [];
  if (parts === undefined) return undefined;
  let [days, ms] = [0, 0];
  for (const [, number, unit = ''] of parts.matchAll(/(\d{1,11})([WDHMS])/g)) {
    days += Number(number) * (UNIT_DAYS[unit] ?? 0);
    ms += Number(number) * (UNIT_MS[unit] ?? 0);
  }
  if (days + ms / DAY_MS > MAX_DURATION_DAYS) return undefined;
  return sign === '-' ? { days: -days, ms: -ms } : { days, ms };
}

/** Parses the time of a property that has a single value. */
export function parsePropertyTime(property: IcalProperty): IcalTime | undefined {
  const { value } = property;
  const context = timeContextOf(property);
  // Some programs do not quote a TZID that contains a colon.
  const colonIndex = value.lastIndexOf(':');
  const parsedTime = parseTime(value, context);
  if (parsedTime !== undefined || colonIndex === -1 || context.tzid === undefined) return parsedTime;
  const tzid = `${context.tzid}:${value.slice(0, colonIndex)}`.replace(/"$/, '');
  return parseTime(value.slice(colonIndex + 1), { ...context, tzid });
}

function timeContextOf({ lineNumber, parameters }: IcalProperty): TimeContext {
  return { lineNumber, tzid: parameters.get('TZID'), isDate: parameters.get('VALUE')?.toUpperCase() === 'DATE' };
}

/** Parses the times of a list. The result contains `undefined` for each invalid time. */
export function parseTimes(property: IcalProperty): readonly (IcalTime | undefined)[] {
  const context = timeContextOf(property);
  return property.value.split(',').map((text) => parseTime(text, context));
}

/** Parses a comma-separated list of times, as `parseTimes` does, or of periods: `start/end` or `start/duration`. */
export function parsePeriods(property: IcalProperty): readonly (IcalPeriod | undefined)[] {
  const context = timeContextOf(property);
  return property.value.split(',').map((text) => {
    const [startText = '', endText, ...extraParts] = text.split('/');
    const start = parseTime(startText, context);
    if (start === undefined || extraParts.length > 0) return undefined;
    if (endText === undefined) return { start, end: undefined };
    const end = parseDuration(endText) ?? parseTime(endText, context);
    return end === undefined ? undefined : { start, end };
  });
}

/** A parsed content line (RFC 5545, 3.1). Names are in upper case. */
export type IcalProperty = {
  readonly lineNumber: number;
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly value: string;
};

const NAME_PATTERN = /^[\w.-]{1,128}/;

/** Parses a content line; undefined if it has no name or no colon. */
export function parseProperty({ lineNumber, text }: ContentLine): IcalProperty | undefined {
  const [name] = NAME_PATTERN.exec(text) ?? [];
  if (name === undefined) return undefined;
  const parameters = new Map<string, string>();
  let index = name.length;
  while (text[index] === ';') {
    const parameterEnd = findParameterEnd(text, index + 1);
    const [parameterName = '', ...valueParts] = text.slice(index + 1, parameterEnd).split('=');
    parameters.set(parameterName.trim().toUpperCase(), unquote(valueParts.join('=')));
    index = parameterEnd;
  }
  if (text[index] !== ':') return undefined;
  return { lineNumber, name: name.toUpperCase(), parameters, value: text.slice(index + 1) };
}

/**
 * Returns the index of the end of a parameter: the next `;` or `:` outside of quotes. An unclosed quote is taken
 * literally.
 */
function findParameterEnd(text: string, fromIndex: number, handlesQuotes = true): number {
  let isQuoted = false;
  for (let index = fromIndex; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') isQuoted = handlesQuotes && !isQuoted;
    else if (!isQuoted && (character === ';' || character === ':')) return index;
  }
  return isQuoted ? findParameterEnd(text, fromIndex, false) : text.length;
}

function unquote(value: string): string {
  return value.trim().replace(/^"/, '').replace(/"$/, '');
}

/** Unescapes a value of type TEXT. */
export function unescapeText({ value }: IcalProperty): string {
  return value.replace(/\\([\\;,nN])/g, (_all, character: string) => (/n/i.test(character) ? '\n' : character));
}
