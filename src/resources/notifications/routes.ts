import { follow } from '../../http/follow.ts';
import type { Route } from '../../http/route.ts';
import { followNotifications } from './actions.ts';
import { notificationFields, notificationParameters } from './schema.ts';

/** X2. */
export function notificationRoutes({ baseUrl }: { baseUrl: () => string }): readonly Route[] {
  return [
    follow({
      path: '/notifications',
      says: 'The feed: everything that happened, in order and without a gap, for 90 days.',
      permission: 'hooks:read',
      parameters: notificationParameters,
      fields: notificationFields,
      entry: ({ cursor, kind }) => ({ cursor, kind: kind ?? '' }),
      call: (view, caller, given, reading) => followNotifications(view, caller, given, reading, baseUrl()),
    }),
  ];
}
