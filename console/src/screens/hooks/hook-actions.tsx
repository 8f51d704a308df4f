import { useState } from 'preact/hooks';
import type { FeedKind } from '../../../../packages/sdk/src/api-types.ts';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { isAdmin, requireSession } from '../../app/session.ts';
import { runWithToast, useQuery, useSubmission } from '../../app/use-query.ts';
import { Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { showToast } from '../../components/toast.tsx';
import { formatCountWithNoun, formatEventTypes } from '../../delivery/delivery-text.ts';
import { showAttemptOutcome } from './delivery-history.ts';

/** Maximum number of occurrences that are checked for the preview of a restore. */
const MAX_OCCURRENCES_CHECKED = 100;

/** Returns the actions on a hook, and the confirmation dialog of the current action. */
export function useHookActions(onActionDone: () => void) {
  const [confirmation, setConfirmation] = useState<{
    readonly action: 'restore' | 'delete' | 'replay';
    readonly hook: Hook;
  }>();
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
    openReplayDialog: (hook: Hook) => setConfirmation({ action: 'replay', hook }),
    setEnabled: (hook: Hook, isEnabled: boolean) =>
      runActionWithToast(
        () => client.hooks.update(hook.id, { enabled: isEnabled ? 1 : 0 }),
        isEnabled ? 'Enabled. Pending notifications are sent.' : 'Disabled. Notifications stay pending.',
      ),
    confirmDialog:
      confirmation?.action === 'replay' ? (
        <ReplayDialog hook={confirmation.hook} onClose={closeDialog} onDone={onActionDone} />
      ) : (
        confirmation && (
          <ConfirmDialog
            title={confirmation.action === 'restore' ? 'Restore this webhook?' : 'Delete this webhook?'}
            confirmLabel={confirmation.action === 'restore' ? 'Restore' : 'Delete'}
            onClose={closeDialog}
            onConfirm={() =>
              confirmation.action === 'restore'
                ? void runActionWithToast(
                    () => client.hooks.restore(confirmation.hook.id),
                    hasLostRole(confirmation.hook)
                      ? 'Restored. What it missed meanwhile is not sent.'
                      : 'Restored. What it missed is sent.',
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
                Nothing more is sent to its target. It stays in the list as ended for 30 days, and its owner can restore
                it until then.
              </p>
            )}
          </ConfirmDialog>
        )
      ),
  };
}

/**
 * Whether the current user may restore a hook: it must have ended, only its owner may restore it, and only an admin one
 * with the scope `account`.
 */
export function canRestore(hook: Hook): boolean {
  return (
    hook.state === 'ended' &&
    hook.user_id === requireSession().user.user_id &&
    hook.ended_reason !== 'user_deleted' &&
    (hook.scope !== 'account' || isAdmin())
  );
}

/** Whether a hook ended with the role of its owner. What happened since is never sent; what was pending is. */
const hasLostRole = (hook: Hook) => hook.ended_reason === 'role_lost';

/** Preview of the deliveries that restoring a hook will send. */
function MissedDeliveries({ hook }: { readonly hook: Hook }) {
  const { data, errorText } = useQuery((signal) => countMissedDeliveries(hook, signal), [hook.id]);
  if (errorText !== undefined)
    return <p>{hasLostRole(hook) ? 'What was pending when it ended is sent.' : 'What it missed is sent.'}</p>;
  if (data === undefined) return <p role="status">Counting what it missed…</p>;
  const { undeliveredCount, sinceEndCount, hasMore } = data;
  if (undeliveredCount + sinceEndCount === 0)
    return (
      <p>
        {hasLostRole(hook)
          ? 'Nothing is sent now: what happened since it ended is never sent.'
          : 'It missed nothing, so nothing is sent now.'}
      </p>
    );
  return (
    <>
      <p>It keeps its id, and these are sent immediately:</p>
      <ul class="plain-list">
        {undeliveredCount > 0 && (
          <li>{formatCountWithNoun(undeliveredCount, 'notification')} that failed before it ended</li>
        )}
        {sinceEndCount > 0 && (
          <li>
            {hasMore && 'more than '}
            {formatCountWithNoun(sinceEndCount, 'notification')} of events since then (
            {formatEventTypes(hook.events).toLowerCase()})
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
  if (hasLostRole(hook))
    return { undeliveredCount: undeliveredPage.paging.total_records, sinceEndCount: 0, hasMore: false };
  const recentActivityPage = await client.activity.list(
    {
      scope: hook.scope,
      ...(hook.scope === 'project' && { project_id: hook.project_id }),
      ...(hook.events.includes('*') ? {} : { kind: hook.events.filter((kind): kind is FeedKind => kind !== '*') }),
      limit: MAX_OCCURRENCES_CHECKED,
    },
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

const DAY_MS = 86_400_000;

/** Formats a time for an input of local times: `2026-11-26T14:02:11`. */
function toLocalInput(timeMs: number): string {
  return new Date(timeMs - new Date(timeMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Converts the value of an input of local times to a UTC timestamp of the API; empty for an incomplete value. */
function toUtcTimestamp(localText: string): string {
  const date = new Date(localText);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 19).replace('T', ' ');
}

type ReplayDialogProps = { readonly hook: Hook; readonly onClose: () => void; readonly onDone: () => void };

/** Dialog that sends the deliveries of an interval again. The times are local ones, like all times of deliveries. */
function ReplayDialog({ hook, onClose, onDone }: ReplayDialogProps) {
  const [from, setFrom] = useState(() => toLocalInput(Date.now() - DAY_MS));
  const [to, setTo] = useState(() => toLocalInput(Date.now()));
  const [isEmpty, setEmpty] = useState(false);
  const interval = { from: toUtcTimestamp(from), to: toUtcTimestamp(to) };
  const { submit, isBusy, errorsByField, errorText } = useSubmission(async () => {
    const { deliveries } = await client.hooks.replay(hook.id, interval);
    setEmpty(deliveries === 0);
    if (deliveries === 0) return;
    showToast(`${formatCountWithNoun(deliveries, 'notification')} will be sent again.`);
    onClose();
    onDone();
  });
  const change = (setTime: (time: string) => void) => (time: string) => {
    setEmpty(false);
    setTime(time);
  };
  return (
    <Dialog title="Send notifications again" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p class="soft">
          Every notification of this interval that was delivered or has failed is sent again, each under its Webhook-Id.
          Failures do not count.
        </p>
        <TextField
          label="From"
          type="datetime-local"
          step={1}
          required
          value={from}
          errorText={errorsByField.from}
          onInput={change(setFrom)}
        />
        <TextField
          label="To"
          type="datetime-local"
          step={1}
          required
          value={to}
          errorText={errorsByField.to}
          onInput={change(setTo)}
        />
        <p class="small soft">
          Times in {new Intl.DateTimeFormat().resolvedOptions().timeZone}
          {interval.from !== '' && interval.to !== '' && `: ${interval.from} to ${interval.to} UTC`}.
        </p>
        {isEmpty && <p role="status">No notification was sent in this interval.</p>}
        {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" disabled={isBusy}>
            {isBusy ? 'Sending…' : 'Send again'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
