import { join } from 'node:path';
import { CliError } from '../output/cli-error.ts';
import { keptFolder, readKept, writeKept } from './state-file.ts';

/** A connection saved by `carillon login`. */
export type Profile = { readonly service: string; readonly domain: string; readonly key: string };

export const DEFAULT_PROFILE = 'default';

type Profiles = Readonly<Record<string, Profile>>;

export const profilesFile = () => join(keptFolder('config'), 'profiles.json');

export function findProfile(name: string): Profile | undefined {
  const profiles = readProfiles();
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

export function saveProfile(name: string, profile: Profile): void {
  writeKept(profilesFile(), { ...readProfiles(), [name]: profile });
}

/** Deletes a profile; returns whether it existed. */
export function forgetProfile(name: string): boolean {
  const { [name]: known, ...others } = readProfiles();
  if (known !== undefined) writeKept(profilesFile(), others);
  return known !== undefined;
}

export function profileNames(): string[] {
  return Object.keys(readProfiles());
}

function readProfiles(): Profiles {
  const parseError = `${profilesFile()} was not written by carillon login, or is damaged: correct or delete it, and log in again.`;
  const stored = readKept(profilesFile(), parseError) ?? {};
  const isValid = typeof stored === 'object' && !Array.isArray(stored) && Object.values(stored ?? {}).every(isProfile);
  if (!isValid) throw new CliError([parseError]);
  return stored as Profiles;
}

function isProfile(value: unknown): value is Profile {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['service', 'domain', 'key'].every((name) => typeof Reflect.get(value, name) === 'string')
  );
}
