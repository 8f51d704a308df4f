import type { Session } from '../../../packages/sdk/src/people.ts';
import { client } from '../app/client.ts';
import { collectAll, runWithToast, useQuery } from '../app/use-query.ts';
import { Badge, LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { RelativeTime } from '../components/timestamp.tsx';

/** List of the active sessions of a user, each with a button that revokes the session. */
export function SessionList({ userId }: { readonly userId: string }) {
  const sessionsQuery = useQuery(
    (signal) => collectAll(client.sessions.each({ user_id: userId }, { signal })),
    [userId],
  );
  if (sessionsQuery.data === undefined) {
    return sessionsQuery.errorText === undefined ? (
      <LoadingSkeleton lineCount={2} />
    ) : (
      <Note tone="bad">{sessionsQuery.errorText}</Note>
    );
  }
  const endSessions = async (sessionsToEnd: readonly Session[], successMessage: string) => {
    await runWithToast(async () => {
      for (const { id } of sessionsToEnd) await client.sessions.end(id);
    }, successMessage);
    sessionsQuery.reload();
  };
  const hasCurrentSession = sessionsQuery.data.some(({ current }) => current === '1');
  const otherSessions = sessionsQuery.data.filter(({ current }) => current !== '1');
  if (sessionsQuery.data.length === 0) return <p class="soft">Not signed in anywhere.</p>;
  return (
    <>
      <ul class="list" aria-label="Sessions">
        {[...sessionsQuery.data]
          .sort((a, b) => b.last_used.localeCompare(a.last_used))
          .map((session) => (
            <li key={session.id}>
              <div class="grow">
                <div class="row">
                  <strong>{browserNameOf(session)}</strong>
                  {session.current === '1' && <Badge tone="good">this one</Badge>}
                </div>
                <p class="small soft">
                  from {session.source}, signed in <RelativeTime timestamp={session.date_created} />, last used{' '}
                  <RelativeTime timestamp={session.last_used} />
                </p>
              </div>
              {session.current !== '1' && (
                <Button
                  label={`End the session of ${browserNameOf(session)} from ${session.source}`}
                  onClick={() => endSessions([session], 'That session has ended.')}
                >
                  End
                </Button>
              )}
            </li>
          ))}
      </ul>
      {otherSessions.length > 1 && (
        <div class="ends">
          <Button
            variant="danger"
            onClick={() => endSessions(otherSessions, `${otherSessions.length} sessions have ended.`)}
          >
            {hasCurrentSession ? 'End all others' : 'End all'}
          </Button>
        </div>
      )}
    </>
  );
}

const browserNameOf = ({ agent }: Session) => (agent === '' ? 'A browser that does not say which' : agent);
