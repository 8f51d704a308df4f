import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError } from '../output/screen.ts';

/** A connection saved by `carillon login`. */
type Profile = { readonly service: string; readonly domain: string; readonly key: string };

export const DEFAULT_PROFILE = 'default';

type Profiles = Readonly<Record<string, Profile>>;

export const getProfilesFilePath = () => join(resolveXdgFolder('config'), 'profiles.json');

export function findProfile(name: string): Profile | undefined {
  const profiles = readProfiles();
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

export function saveProfile(name: string, profile: Profile): void {
  writeJsonFile(getProfilesFilePath(), { ...readProfiles(), [name]: profile });
}

/** Deletes a profile. Returns whether the profile existed. */
export function deleteProfile(name: string): boolean {
  const { [name]: deletedProfile, ...others } = readProfiles();
  if (deletedProfile !== undefined) writeJsonFile(getProfilesFilePath(), others);
  return deletedProfile !== undefined;
}

export function listProfileNames(): string[] {
  return Object.keys(readProfiles());
}

function readProfiles(): Profiles {
  const parseErrorText = `${getProfilesFilePath()} was not written by carillon login, or is damaged: correct or delete it, and log in again.`;
  const storedProfiles = readJsonFile(getProfilesFilePath(), parseErrorText) ?? {};
  const hasValidProfiles =
    typeof storedProfiles === 'object' &&
    !Array.isArray(storedProfiles) &&
    Object.values(storedProfiles ?? {}).every(isProfile);
  if (!hasValidProfiles) throw new CliError([parseErrorText]);
  return storedProfiles as Profiles;
}

function isProfile(value: unknown): value is Profile {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['service', 'domain', 'key'].every((name) => typeof Reflect.get(value, name) === 'string')
  );
}

/** Returns the folder for settings or state, as defined by the XDG Base Directory Specification. */
export function resolveXdgFolder(purpose: 'config' | 'state'): string {
  const [variableName, fallbackFolder] =
    purpose === 'config' ? ['XDG_CONFIG_HOME', '.config'] : ['XDG_STATE_HOME', '.local/state'];
  const folder = process.env[variableName];
  return join(folder?.startsWith('/') ? folder : join(homedir(), fallbackFolder), 'carillon');
}

/**
 * Reads a JSON file; returns undefined if the file does not exist.
 *
 * @param parseErrorText error message for a file that is not JSON. The message must not quote the file, which may
 *   contain a key.
 */
export function readJsonFile(path: string, parseErrorText: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    if (error instanceof SyntaxError) throw new CliError([parseErrorText]);
    throw new CliError([`${path} cannot be read: ${error instanceof Error ? error.message : error}.`]);
  }
}

/**
 * Writes a JSON file atomically and durably, readable only by its owner. After a crash the file has the old or the new
 * content.
 */
export function writeJsonFile(path: string, content: unknown): void {
  const temporaryPath = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fileDescriptor = openSync(temporaryPath, 'w', 0o600);
    try {
      writeSync(fileDescriptor, `${JSON.stringify(content, undefined, 2)}\n`);
      fsyncSync(fileDescriptor);
    } finally {
      closeSync(fileDescriptor);
    }
    renameSync(temporaryPath, path);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(temporaryPath, { force: true });
    throw new CliError([`${path} cannot be written: ${error instanceof Error ? error.message : error}.`]);
  }
}

/** Syncs the folder, so that the rename is durable. Windows cannot sync folders, so nothing happens there. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const folderDescriptor = openSync(folder, 'r');
  try {
    fsyncSync(folderDescriptor);
  } finally {
    closeSync(folderDescriptor);
  }
}

function errorCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
