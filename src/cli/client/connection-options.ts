import { environmentName } from '../../config/options.ts';

/** How a command that speaks to a service finds it: flags, then the environment, then what `carillon login` saved. */
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

/** What `carillon listen` signs by. */
export const listenSecret = {
  flag: 'secret',
  shape: 'whsec_…',
  says: 'Sign what is forwarded, as a hook with this secret is signed; better in the environment, as with --key.',
} as const;

/** Where an import from another service finds the key of that one. */
export const importKeyVariable = environmentName('import-key');

/** Their names in the environment, which `carillon serve` finds there, too, and passes over. */
export const connectionVariables: readonly string[] = [
  ...[...Object.values(connectionOptions), listenSecret].map(({ flag }) => environmentName(flag)),
  importKeyVariable,
];
