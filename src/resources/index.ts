import type { EnqueueHookAlerts } from '../delivery/outbox/end-hooks.ts';
import type { SsrfGuard } from '../delivery/transport/ssrf-guard.ts';
import type { PublicRoute } from '../http/routes/public-routes.ts';
import type { Route } from '../http/routes/route.ts';
import type { Log } from '../log.ts';
import type { Random } from '../secrets.ts';
import { createActivityRoutes } from './activity/activity.ts';
import { createCalendarRoutes } from './calendars/calendars.ts';
import { clientRoutes } from './clients/clients.ts';
import { commentRoutes } from './comments/comments.ts';
import { companyRoutes } from './company/company.ts';
import { contactRoutes } from './contacts/contacts.ts';
import { createDeliveryRoutes } from './deliveries/deliveries.ts';
import { eventRoutes } from './events/events.ts';
import { createHookRoutes, type Quotas } from './hooks/routes.ts';
import { createSecretRoutes } from './hooks/secrets.ts';
import { createTargetCheckRoutes, type TargetCheckDeps } from './hooks/target-check.ts';
import { createImportRoutes } from './imports/imports.ts';
import { createInvitationRoutes } from './invitations/invitations.ts';
import { createInvitationPublicRoutes } from './invitations/public-routes.ts';
import { createKeyRoutes } from './keys/keys.ts';
import { createNotificationRoutes } from './notifications/notifications.ts';
import { createPassphraseRoutes, type PassphraseDeps } from './passphrases/passphrases.ts';
import { projectRoutes } from './projects/projects.ts';
import { sessionRoutes } from './sessions/sessions.ts';
import { createSessionPublicRoutes, type SignInDeps } from './sessions/sign-in-routes.ts';
import { hourlyRoutes } from './stats/hourly.ts';
import { overviewRoutes } from './stats/overview.ts';
import { subtaskRoutes } from './subtasks/subtasks.ts';
import { taskRoutes } from './tasks/tasks.ts';
import { teamRoutes } from './teams/teams.ts';
import { timeEntryRoutes } from './time-entries/time-entries.ts';
import { createUserRoutes } from './users/users.ts';

/** Dependencies of the routes, passed in by `server.ts`. */
type RouteDeps = {
  readonly guard: SsrfGuard;
  readonly random: Random;
  readonly log: Log;
  readonly baseUrl: () => string;
  /** Mails hook alerts to the owners of hooks. Without it, no alerts are mailed. */
  readonly enqueueAlerts?: EnqueueHookAlerts;
  /** Quotas of each account. Without them, there are no limits. */
  readonly quotas?: Quotas;
};

/** Creates all routes of the API group, in the order of the documentation. */
export function createApiRoutes(deps: RouteDeps): readonly Route[] {
  const routes = [
    ...eventRoutes,
    ...createImportRoutes(),
    ...createCalendarRoutes(deps),
    ...createHookRoutes(deps),
    ...createSecretRoutes(deps),
    ...createDeliveryRoutes(deps),
    ...createNotificationRoutes(deps),
    ...clientRoutes,
    ...contactRoutes,
    ...projectRoutes,
    ...taskRoutes,
    ...subtaskRoutes,
    ...timeEntryRoutes,
    ...commentRoutes,
    ...createUserRoutes(deps),
    ...teamRoutes,
    ...companyRoutes,
    ...createKeyRoutes(deps),
  ];
  return deps.quotas?.maxPendingDeliveries === undefined ? routes : routes.map(addQuotaProblem);
}

/** Adds the problem `pending_quota_exceeded` to a route that may enqueue deliveries. */
function addQuotaProblem(route: Route): Route {
  return route.recordedKinds.length > 0 ? { ...route, problems: [...route.problems, 'pending_quota_exceeded'] } : route;
}

/** Dependencies of the console's routes, including those of the API's routes. */
export type ConsoleDeps = RouteDeps & PassphraseDeps & SignInDeps & TargetCheckDeps;

/** Creates the routes that only the console group serves. The console group also serves the API's routes. */
export function createConsoleRoutes(deps: ConsoleDeps): readonly Route[] {
  return [
    ...sessionRoutes,
    ...createInvitationRoutes(deps),
    ...createPassphraseRoutes(deps),
    ...overviewRoutes,
    ...createActivityRoutes(deps),
    ...hourlyRoutes,
    ...createTargetCheckRoutes(deps),
  ];
}

/** Creates the public routes of the console: sign-in, sign-out and invitations. */
export function createPublicRoutes(deps: ConsoleDeps): readonly PublicRoute[] {
  return [...createSessionPublicRoutes(deps), ...createInvitationPublicRoutes(deps)];
}
