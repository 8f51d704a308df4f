import type { Guard } from '../delivery/guard.ts';
import { type Kind, kinds } from '../delivery/kinds.ts';
import type { Notices } from '../delivery/notices.ts';
import type { OpenRoute } from '../http/open.ts';
import type { Route } from '../http/route.ts';
import type { Log } from '../log.ts';
import type { Chance } from '../secrets.ts';
import { activityRoutes } from './activity/routes.ts';
import { calendarRoutes } from './calendars/routes.ts';
import { clientRoutes } from './clients/routes.ts';
import { commentRoutes } from './comments/routes.ts';
import { companyRoutes } from './company/routes.ts';
import { contactRoutes } from './contacts/routes.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { type Ceilings, hookRoutes } from './hooks/routes.ts';
import { hourRoutes } from './hours/routes.ts';
import { importRoutes } from './imports/routes.ts';
import { invitationOpenRoutes } from './invitations/open.ts';
import { invitationRoutes } from './invitations/routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { overviewRoutes } from './overview/routes.ts';
import { type PassphrasePorts, passphraseRoutes } from './passphrases/routes.ts';
import { projectRoutes } from './projects/routes.ts';
import { secretRoutes } from './secrets/routes.ts';
import { type SignInPorts, sessionOpenRoutes } from './sessions/open.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { subtaskRoutes } from './subtasks/routes.ts';
import { taskRoutes } from './tasks/routes.ts';
import { teamRoutes } from './teams/routes.ts';
import { timeEntryRoutes } from './time-entries/routes.ts';
import { userRoutes } from './users/routes.ts';
import { type VerdictPorts, verdictRoutes } from './verdict/routes.ts';

/** What the rows need from outside, handed in by the composition root. */
export type RoutePorts = {
  readonly guard: Guard;
  readonly chance: Chance;
  readonly log: Log;
  readonly baseUrl: () => string;
  /** How owners are told by mail what became of their hooks; left out, nobody is. */
  readonly notices?: Notices;
  /** What an account may have at the most; left out, there is no limit. */
  readonly ceilings?: Ceilings;
};

/** Every route of the interface, in the order in which the documentation shows them. */
export function allRoutes(ports: RoutePorts): readonly Route[] {
  const rows = [
    ...eventRoutes,
    ...importRoutes(),
    ...calendarRoutes(ports),
    ...hookRoutes(ports),
    ...secretRoutes(ports),
    ...deliveryRoutes(ports),
    ...notificationRoutes(ports),
    ...clientRoutes,
    ...contactRoutes,
    ...projectRoutes,
    ...taskRoutes,
    ...subtaskRoutes,
    ...timeEntryRoutes,
    ...commentRoutes,
    ...userRoutes,
    ...teamRoutes,
    ...companyRoutes,
    ...keyRoutes(ports),
  ];
  return ports.ceilings?.owed === undefined ? rows : rows.map(mayBeTooMuch);
}

/** What a hook can be told of is refused while too much is owed. */
function mayBeTooMuch(row: Route): Route {
  const told = row.records.some((kind) => kinds[kind as Kind].hooks);
  return told ? { ...row, problems: [...row.problems, 'too_much_owed'] } : row;
}

/** What the rows of the console need beside that. */
export type ConsolePorts = RoutePorts & PassphrasePorts & SignInPorts & VerdictPorts;

/** The rows that only the console has, behind its door and beside the others. */
export function consoleRoutes(ports: ConsolePorts): readonly Route[] {
  return [
    ...sessionRoutes,
    ...invitationRoutes(ports),
    ...passphraseRoutes(ports),
    ...overviewRoutes,
    ...activityRoutes(ports),
    ...hourRoutes,
    ...verdictRoutes(ports),
  ];
}

/** How one gets in, and out: open to whoever comes from the pages of the console. */
export function openRoutes(ports: ConsolePorts): readonly OpenRoute[] {
  return [...sessionOpenRoutes(ports), ...invitationOpenRoutes(ports)];
}
