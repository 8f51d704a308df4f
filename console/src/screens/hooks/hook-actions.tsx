import { useState } from 'preact/hooks';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { me } from '../../app/session.ts';
import { attempt, useLoaded } from '../../app/use-query.ts';
import { Ask } from '../../components/dialog.tsx';
import { counted, kindTitle } from '../../delivery/delivery-text.ts';
import { tellOutcome } from './watch-attempt.ts';

/** What is looked at to say what a restored hook will be sent. */
const MAX_HOOKS_CHECKED = 100;

/** What can be done with a hook, and the questions that come before it. */
export function useHookActions(onDone: () => void) {
  const [asked, setAsked] = useState<{ readonly what: 'restore' | 'delete'; readonly hook: Hook }>();
  const close = () => setAsked(undefined);
  const done = (work: () => Promise<unknown>, says: string) => attempt(work, says).then((is) => is && onDone());
  return {
    test: (hook: Hook) =>
      attempt(async () => {
        await tellOutcome('Test', (await client.hooks.test(hook.id)).id);
        onDone();
      }),
    restore: (hook: Hook) => setAsked({ what: 'restore', hook }),
    remove: (hook: Hook) => setAsked({ what: 'delete', hook }),
    dialog: asked && (
      <Ask
        title={asked.what === 'restore' ? 'Restore this hook?' : 'Delete this hook?'}
        yes={asked.what === 'restore' ? 'Restore' : 'Delete'}
        onClose={close}
        onYes={() =>
          asked.what === 'restore'
            ? void done(() => client.hooks.restore(asked.hook.id), 'Restored. It is sent what it missed.')
            : void done(() => client.hooks.delete(asked.hook.id), 'Deleted. It can be restored for 30 days.')
        }
      >
        {asked.what === 'restore' ? (
          <Missed hook={asked.hook} />
        ) : (
          <p>
            From now on nothing is sent to its target. It stays in the list as ended for 30 days, and its owner can
            restore it until then.
          </p>
        )}
      </Ask>
    ),
  };
}

/** Whether somebody may restore a hook: its owner, while it has ended. */
export function canRestore(hook: Hook): boolean {
  return hook.state === 'ended' && hook.user_id === me().user.user_id && hook.ended_reason !== 'user_deleted';
}

/** What a hook will be sent once it lives again. */
function Missed({ hook }: { readonly hook: Hook }) {
  const { data, fault } = useLoaded((signal) => missedBy(hook, signal), [hook.id]);
  if (fault !== undefined) return <p>It is sent what it missed.</p>;
  if (data === undefined) return <p role="status">Looking up what it missed…</p>;
  const { undelivered, since, isMore } = data;
  if (undelivered + since === 0) return <p>It missed nothing, so nothing is sent now. It is told of what comes.</p>;
  return (
    <>
      <p>It lives again under its id, and is sent at once:</p>
      <ul class="plain-list">
        {undelivered > 0 && <li>{counted(undelivered, 'notification')} left undelivered when it ended</li>}
        {since > 0 && (
          <li>
            {isMore && 'more than '}
            {counted(since, 'notification')} of what has happened since ({kindTitle(hook.event).toLowerCase()})
          </li>
        )}
      </ul>
    </>
  );
}

async function missedBy(hook: Hook, signal: AbortSignal) {
  const left = await client.deliveries.list({ hook_id: hook.id, state: 'undelivered', limit: 1 }, { signal });
  const happened = await client.activity.list({ kind: hook.event, limit: MAX_HOOKS_CHECKED }, { signal });
  const since = happened.data.filter(
    ({ occurred_at, deliveries }) =>
      occurred_at >= hook.date_ended && !deliveries.some(({ hook_id }) => hook_id === hook.id),
  ).length;
  return { undelivered: left.paging.total_records, since, isMore: since === MAX_HOOKS_CHECKED };
}
