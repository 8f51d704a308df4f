import { systemClock } from '../../src/clock.ts';
import { createLog } from '../../src/log.ts';
import { allRoutes, type ConsolePorts, consoleRoutes, openRoutes } from '../../src/resources/index.ts';
import { LoginThrottle } from '../../src/resources/passphrases/login-throttle.ts';
import { COST, Passphrases, systemRandom } from '../../src/secrets.ts';

/** What the rows need from outside, where they are only looked at. */
const ports: ConsolePorts = {
  guard: { check: async () => ({ failure: 'no_such_name' }) },
  random: systemRandom,
  log: createLog('silent'),
  baseUrl: () => '',
  passphrases: new Passphrases(systemRandom, COST),
  tries: new LoginThrottle(systemClock),
  onRefused: () => undefined,
  isTaken: async () => false,
};

/** The rows behind both doors, and those behind the second one alone. */
export const publicRows = allRoutes(ports);
export const consoleRows = consoleRoutes(ports);

/** Those that nobody needs to be known for. */
export const openRows = openRoutes(ports);
