import { windowsZones } from './windows-zones.ts';
import { isZone, offsetAt } from './zone.ts';

/** The IANA zone that a program means by a name of its own; undefined for a name that says no zone. */
export function zoneMeantBy(name: string): string | undefined {
  return windowsZones.get(name.toLowerCase()) ?? zoneInPath(name) ?? zoneShownAs(name);
}

/** Some programs put a path of their own before the name: `/mozilla.org/20050126_1/Europe/Berlin`. */
function zoneInPath(name: string): string | undefined {
  if (!name.startsWith('/')) return undefined;
  const steps = name.split('/').slice(-3);
  return [steps, steps.slice(-2)].map((some) => some.join('/')).find((one) => one.includes('/') && isZone(one));
}

const REGIONS = ['Africa', 'America', 'Asia', 'Atlantic', 'Australia', 'Europe', 'Indian', 'Pacific'];

/** As Windows shows it: `(UTC+01:00) Amsterdam, Berlin, Bern`, `(UTC-05:00) Eastern Time (US & Canada)`. */
function zoneShownAs(name: string): string | undefined {
  const [, offset, said = ''] =
    /^(?:\((?:UTC|GMT) ?([+-]\d\d[:.]\d\d)?\) ?)?([^()]{2,100})(?: \(US (?:&|and) Canada\))?$/i.exec(name) ?? [];
  const standard = windowsZones.get(
    said
      .trim()
      .toLowerCase()
      .replace(/ time$/, ' standard time'),
  );
  if (standard !== undefined) return standard;
  const cities = said.split(',').map((city) => city.trim().replaceAll(' ', '_'));
  return cities
    .flatMap((city) => REGIONS.map((region) => `${region}/${city}`))
    .find((zone) => isZone(zone) && (offset === undefined || isAhead(zone, offset)));
}

/** Whether a zone is so far ahead of UTC in winter: there are several cities of one name. */
function isAhead(zone: string, offset: string): boolean {
  const [hours = 0, minutes = 0] = offset.slice(1).split(/[:.]/).map(Number);
  const seconds = (hours * 60 + minutes) * 60 * (offset.startsWith('-') ? -1 : 1);
  const year = 2025;
  return seconds === Math.min(offsetAt(zone, Date.UTC(year, 0)), offsetAt(zone, Date.UTC(year, 6)));
}
