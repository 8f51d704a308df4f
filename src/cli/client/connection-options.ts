import { environmentName } from '../../config/options.ts';

/** Connection options of client commands. Order: flags, environment, the profile saved by `carillon login`. */
export const connectionOptions = {
  service: { flag: 'service', shape: 'url', says: 'URL of the service (default http://127.0.0.1:8080).' },
  domain: { flag: 'domain', shape: 'host', says: 'Domain of the account.' },
  key: {
    flag: 'key',
    shape: 'key',
    says: 'API key. Other users of this machine can see it in the process list: prefer the variable, or carillon login.',
  },
  profile: { flag: 'profile', shape: 'name', says: 'Name of a login saved by carillon login (default default).' },
} as const;

/** The signing secret of `carillon listen`. */
export const listenSecret = {
  flag: 'secret',
  shape: 'whsec_…',
  says: 'Sign forwarded requests with this secret, like a signed hook. Prefer the variable, as with --key.',
} as const;

/** Environment variable with the key of the other service, for `import --from-api`. */
export const importKeyVariable = environmentName('import-key');

/** Environment variables of client commands; `carillon serve` does not report them as unknown. */
export const connectionVariables: readonly string[] = [
  ...[...Object.values(connectionOptions), listenSecret].map(({ flag }) => environmentName(flag)),
  importKeyVariable,
];
