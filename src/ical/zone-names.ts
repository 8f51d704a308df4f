import { windowsZones } from './windows-zones.ts';
import { isZone, offsetAt } from './zone.ts';

/** The IANA zone for a non-IANA name that a program uses; undefined if it is unknown. */
export function zoneMeantBy(name: string): string | undefined {
  return windowsZones.get(name.toLowerCase()) ?? zoneInPath(name) ?? zoneOfDisplayName(name);
}

/** Some programs prefix the IANA name with a path: `/mozilla.org/20050126_1/Europe/Berlin`. */
function zoneInPath(name: string): string | undefined {
  if (!name.startsWith('/')) return undefined;
  const segments = name.split('/').slice(-3);
  return [segments, segments.slice(-2)].map((some) => some.join('/')).find((one) => one.includes('/') && isZone(one));
}

const REGIONS = ['Africa', 'America', 'Asia', 'Atlantic', 'Australia', 'Europe', 'Indian', 'Pacific'];

/** Windows display names: `(UTC+01:00) Amsterdam, Berlin, Bern`, `(UTC-05:00) Eastern Time (US & Canada)`. */
function zoneOfDisplayName(name: string): string | undefined {
  const [, offset, label = ''] =
    /^(?:\((?:UTC|GMT) ?([+-]\d\d[:.]\d\d)?\) ?)?([^()]{2,100})(?: \(US (?:&|and) Canada\))?$/i.exec(name) ?? [];
  const standard = windowsZones.get(
    label
      .trim()
      .toLowerCase()
      .replace(/ time$/, ' standard time'),
  );
  if (standard !== undefined) return standard;
  const cities = label.split(',').map((city) => city.trim().replaceAll(' ', '_'));
  return cities
    .flatMap((city) => REGIONS.map((region) => `${region}/${city}`))
    .find((zone) => isZone(zone) && (offset === undefined || isAhead(zone, offset)));
}

/** Whether a zone has this offset in standard time, to tell cities of the same name apart. */
function isAhead(zone: string, offset: string): boolean {
  const [hours = 0, minutes = 0] = offset.slice(1).split(/[:.]/).map(Number);
  const seconds = (hours * 60 + minutes) * 60 * (offset.startsWith('-') ? -1 : 1);
  const year = 2025;
  return seconds === Math.min(offsetAt(zone, Date.UTC(year, 0)), offsetAt(zone, Date.UTC(year, 6)));
}
