import { systemClock } from '../../src/clock.ts';
import { createLog } from '../../src/log.ts';
import { allRoutes, type ConsolePorts, consoleRoutes, openRoutes } from '../../src/resources/index.ts';
import { LoginThrottle } from '../../src/resources/passphrases/login-throttle.ts';
import { COST, Passphrases, systemRandom } from '../../src/secrets.ts';

/** Stub dependencies, to build the route tables without a service. */
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

/** The routes of both groups, and those of the console group only. */
export const publicRows = allRoutes(ports);
export const consoleRows = consoleRoutes(ports);

/** The public routes, which need no authentication. */
export const openRows = openRoutes(ports);
