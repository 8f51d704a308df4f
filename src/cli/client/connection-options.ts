import { environmentName } from '../../config/options.ts';

/** Connection options of client commands. Order: flags, environment, the profile saved by `carillon login`. */
export const connectionOptions = {
  service: { flag: 'service', shape: 'url', says: 'Where the service is (default http://127.0.0.1:8080).' },
  domain: { flag: 'domain', shape: 'host', says: "The account's host name." },
  key: {
    flag: 'key',
    shape: 'key',
    says: 'The API key. Other users of this machine can see it in the list of processes: better in the environment, or saved by carillon login.',
  },
  profile: { flag: 'profile', shape: 'name', says: 'What carillon login saved under this name (default default).' },
} as const;

/** The signing secret of `carillon listen`. */
export const listenSecret = {
  flag: 'secret',
  shape: 'whsec_…',
  says: 'Sign what is forwarded, as a hook with this secret is signed; better in the environment, as with --key.',
} as const;

/** Environment variable with the key of the other service, for `import --from-api`. */
export const importKeyVariable = environmentName('import-key');

/** Environment variables of client commands; `carillon serve` does not report them as unknown. */
export const connectionVariables: readonly string[] = [
  ...[...Object.values(connectionOptions), listenSecret].map(({ flag }) => environmentName(flag)),
  importKeyVariable,
];
