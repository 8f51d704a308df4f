import { join } from 'node:path';
import { CliError } from '../output/cli-error.ts';
import { keptFolder, readKept, writeKept } from './state-file.ts';

/** What `carillon login` saves under a name: a service, and who one is there. */
export type Profile = { readonly service: string; readonly domain: string; readonly key: string };

export const DEFAULT_PROFILE = 'default';

type Profiles = Readonly<Record<string, Profile>>;

export const profilesFile = () => join(keptFolder('config'), 'profiles.json');

/** The profile of this name, or undefined. */
export function findProfile(name: string): Profile | undefined {
  const profiles = readProfiles();
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

export function saveProfile(name: string, profile: Profile): void {
  writeKept(profilesFile(), { ...readProfiles(), [name]: profile });
}

/** Whether there was one. */
export function forgetProfile(name: string): boolean {
  const { [name]: known, ...others } = readProfiles();
  if (known !== undefined) writeKept(profilesFile(), others);
  return known !== undefined;
}

export function profileNames(): string[] {
  return Object.keys(readProfiles());
}

function readProfiles(): Profiles {
  const otherwise = `${profilesFile()} is not what carillon login writes: mend it or delete it, and log in again.`;
  const kept = readKept(profilesFile(), otherwise) ?? {};
  const isWhole = typeof kept === 'object' && !Array.isArray(kept) && Object.values(kept ?? {}).every(isProfile);
  if (!isWhole) throw new CliError([otherwise]);
  return kept as Profiles;
}

function isProfile(kept: unknown): kept is Profile {
  return (
    typeof kept === 'object' &&
    kept !== null &&
    ['service', 'domain', 'key'].every((name) => typeof Reflect.get(kept, name) === 'string')
  );
}
