import { type Kind, kinds } from '../delivery/outbox/event-kinds.ts';
import type { HookAlerts } from '../delivery/outbox/hook-alerts.ts';
import type { SsrfGuard } from '../delivery/transport/ssrf-guard.ts';
import type { PublicRoute } from '../http/routes/public-routes.ts';
import type { Route } from '../http/routes/route.ts';
import type { Log } from '../log.ts';
import type { Random } from '../secrets.ts';
import { activityRoutes } from './activity/routes.ts';
import { calendarRoutes } from './calendars/calendars.ts';
import { clientRoutes } from './clients/clients.ts';
import { commentRoutes } from './comments/comments.ts';
import { companyRoutes } from './company/company.ts';
import { contactRoutes } from './contacts/contacts.ts';
import { deliveryRoutes } from './deliveries/deliveries.ts';
import { eventRoutes } from './events/events.ts';
import { hookRoutes, type Quotas } from './hooks/routes.ts';
import { secretRoutes } from './hooks/secrets.ts';
import { type TargetCheckPorts, targetCheckRoutes } from './hooks/target-check.ts';
import { importRoutes } from './imports/imports.ts';
import { invitationRoutes } from './invitations/invitations.ts';
import { invitationOpenRoutes } from './invitations/public-routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { notificationRoutes } from './notifications/notifications.ts';
import { type PassphrasePorts, passphraseRoutes } from './passphrases/passphrases.ts';
import { projectRoutes } from './projects/projects.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { type SignInPorts, sessionOpenRoutes } from './sessions/sign-in-routes.ts';
import { hourRoutes } from './stats/hourly.ts';
import { overviewRoutes } from './stats/overview.ts';
import { subtaskRoutes } from './subtasks/subtasks.ts';
import { taskRoutes } from './tasks/tasks.ts';
import { teamRoutes } from './teams/teams.ts';
import { timeEntryRoutes } from './time-entries/time-entries.ts';
import { userRoutes } from './users/users.ts';

/** What the rows need from outside, handed in by the composition root. */
export type RoutePorts = {
  readonly guard: SsrfGuard;
  readonly random: Random;
  readonly log: Log;
  readonly baseUrl: () => string;
  /** How owners are told by mail what became of their hooks; left out, nobody is. */
  readonly notices?: HookAlerts;
  /** What an account may have at the most; left out, there is no limit. */
  readonly quotas?: Quotas;
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
  return ports.quotas?.pending === undefined ? rows : rows.map(isLimited);
}

/** What a hook can be told of is refused while too much is pending. */
function isLimited(row: Route): Route {
  const told = row.records.some((kind) => kinds[kind as Kind].hooks);
  return told ? { ...row, problems: [...row.problems, 'pending_quota_exceeded'] } : row;
}

/** What the rows of the console need beside that. */
export type ConsolePorts = RoutePorts & PassphrasePorts & SignInPorts & TargetCheckPorts;

/** The rows that only the console has, behind its door and beside the others. */
export function consoleRoutes(ports: ConsolePorts): readonly Route[] {
  return [
    ...sessionRoutes,
    ...invitationRoutes(ports),
    ...passphraseRoutes(ports),
    ...overviewRoutes,
    ...activityRoutes(ports),
    ...hourRoutes,
    ...targetCheckRoutes(ports),
  ];
}

/** How one gets in, and out: open to whoever comes from the pages of the console. */
export function openRoutes(ports: ConsolePorts): readonly PublicRoute[] {
  return [...sessionOpenRoutes(ports), ...invitationOpenRoutes(ports)];
}
