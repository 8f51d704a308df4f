import type { Guard } from '../delivery/guard.ts';
import type { Route } from '../http/route.ts';
import type { Log } from '../log.ts';
import type { Chance } from '../secrets.ts';
import { clientRoutes } from './clients/routes.ts';
import { companyRoutes } from './company/routes.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { hookRoutes } from './hooks/routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { projectRoutes } from './projects/routes.ts';
import { subtaskRoutes } from './subtasks/routes.ts';
import { taskRoutes } from './tasks/routes.ts';
import { userRoutes } from './users/routes.ts';

/** What the rows need from outside, handed in by the composition root. */
export type RoutePorts = {
  readonly guard: Guard;
  readonly chance: Chance;
  readonly log: Log;
  readonly baseUrl: () => string;
};

/** Every route of the interface, in the order in which the documentation shows them. */
export function allRoutes(ports: RoutePorts): readonly Route[] {
  return [
    ...eventRoutes,
    ...hookRoutes(ports),
    ...deliveryRoutes(ports),
    ...notificationRoutes(ports),
    ...clientRoutes,
    ...projectRoutes,
    ...taskRoutes,
    ...subtaskRoutes,
    ...userRoutes,
    ...companyRoutes,
    ...keyRoutes(ports),
  ];
}
