import { useState } from 'preact/hooks';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { requireSession } from '../../app/session.ts';
import { runWithToast, useQuery } from '../../app/use-query.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { formatCountWithNoun, formatKindTitle } from '../../delivery/delivery-text.ts';
import { showAttemptOutcome } from './delivery-history.ts';

/** Maximum number of occurrences that are checked for the preview of a restore. */
const MAX_OCCURRENCES_CHECKED = 100;

/** Returns the actions on a hook, and the confirmation dialog of the current action. */
export function useHookActions(onActionDone: () => void) {
  const [confirmation, setConfirmation] = useState<{ readonly action: 'restore' | 'delete'; readonly hook: Hook }>();
  const closeDialog = () => setConfirmation(undefined);
  const runActionWithToast = (action: () => Promise<unknown>, successMessage: string) =>
    runWithToast(action, successMessage).then((hasSucceeded) => hasSucceeded && onActionDone());
  return {
    sendTest: (hook: Hook) =>
      runWithToast(async () => {
        await showAttemptOutcome('Test', (await client.hooks.test(hook.id)).id);
        onActionDone();
      }),
    openRestoreDialog: (hook: Hook) => setConfirmation({ action: 'restore', hook }),
    openDeleteDialog: (hook: Hook) => setConfirmation({ action: 'delete', hook }),
    confirmDialog: confirmation && (
      <ConfirmDialog
        title={confirmation.action === 'restore' ? 'Restore this hook?' : 'Delete this hook?'}
        confirmLabel={confirmation.action === 'restore' ? 'Restore' : 'Delete'}
        onClose={closeDialog}
        onConfirm={() =>
          confirmation.action === 'restore'
            ? void runActionWithToast(
                () => client.hooks.restore(confirmation.hook.id),
                'Restored. It is sent what it missed.',
              )
            : void runActionWithToast(
                () => client.hooks.delete(confirmation.hook.id),
                'Deleted. It can be restored for 30 days.',
              )
        }
      >
        {confirmation.action === 'restore' ? (
          <MissedDeliveries hook={confirmation.hook} />
        ) : (
          <p>
            From now on nothing is sent to its target. It stays in the list as ended for 30 days, and its owner can
            restore it until then.
          </p>
        )}
      </ConfirmDialog>
    ),
  };
}

/** Whether the current user may restore a hook: it must have ended, and only its owner may restore it. */
export function canRestore(hook: Hook): boolean {
  return (
    hook.state === 'ended' && hook.user_id === requireSession().user.user_id && hook.ended_reason !== 'user_deleted'
  );
}

/** Preview of the deliveries that restoring a hook will send. */
function MissedDeliveries({ hook }: { readonly hook: Hook }) {
  const { data, errorText } = useQuery((signal) => countMissedDeliveries(hook, signal), [hook.id]);
  if (errorText !== undefined) return <p>It is sent what it missed.</p>;
  if (data === undefined) return <p role="status">Looking up what it missed…</p>;
  const { undeliveredCount, sinceEndCount, hasMore } = data;
  if (undeliveredCount + sinceEndCount === 0)
    return <p>It missed nothing, so nothing is sent now. It is told of what comes.</p>;
  return (
    <>
      <p>It lives again under its id, and is sent at once:</p>
      <ul class="plain-list">
        {undeliveredCount > 0 && (
          <li>{formatCountWithNoun(undeliveredCount, 'notification')} left undelivered when it ended</li>
        )}
        {sinceEndCount > 0 && (
          <li>
            {hasMore && 'more than '}
            {formatCountWithNoun(sinceEndCount, 'notification')} of what has happened since (
            {formatKindTitle(hook.event).toLowerCase()})
          </li>
        )}
      </ul>
    </>
  );
}

async function countMissedDeliveries(hook: Hook, signal: AbortSignal) {
  const undeliveredPage = await client.deliveries.list(
    { hook_id: hook.id, state: 'undelivered', limit: 1 },
    { signal },
  );
  const recentActivityPage = await client.activity.list(
    { kind: hook.event, limit: MAX_OCCURRENCES_CHECKED },
    { signal },
  );
  const sinceEndCount = recentActivityPage.data.filter(
    ({ occurred_at, deliveries }) =>
      occurred_at >= hook.date_ended && !deliveries.some(({ hook_id }) => hook_id === hook.id),
  ).length;
  return {
    undeliveredCount: undeliveredPage.paging.total_records,
    sinceEndCount,
    hasMore: sinceEndCount === MAX_OCCURRENCES_CHECKED,
  };
}
