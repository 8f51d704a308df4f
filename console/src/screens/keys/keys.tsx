import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../../packages/sdk/src/keys.ts';
import type { User } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { currentRoute, setQuery } from '../../app/router.ts';
import { currentSession, isAdmin } from '../../app/session.ts';
import { collectAll, runWithToast, useQuery } from '../../app/use-query.ts';
import { displayNameOf } from '../../app/user-name.ts';
import type { ApiCall } from '../../components/api-call.tsx';
import { Badge, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { Menu } from '../../components/menu.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { parseTimestamp, Timestamp } from '../../components/timestamp.tsx';
import { IssueKey } from './issue-key.tsx';
import { NarrowKey, summarizePermissions } from './permission-grid.tsx';
import './keys.css';

const WEEK_MS = 7 * 86_400_000;

type KeyFilters = { readonly isEnded: boolean; readonly isOwn: boolean };

/** Reads the filters from the query of the route. */
function readFilters(query: URLSearchParams): KeyFilters {
  return { isEnded: query.get('state') === 'ended', isOwn: query.get('of') === 'me' || !isAdmin() };
}

/** Screen with the list of API keys: permissions, owner and last use. */
export default function Keys() {
  const filters = readFilters(currentRoute.value.query);
  const { user } = currentSession();
  const keys = useQuery(
    (signal) => collectAll(client.keys.each(filters.isOwn ? { user_id: user.user_id } : {}, { signal })),
    [filters.isOwn],
  );
  const people = useQuery((signal) => collectAll(client.users.each({}, { signal })), []);
  const [open, setOpen] = useState<{ what: 'issue' } | { what: 'narrow' | 'revoke'; key: ApiKey }>();
  const visible = keys.data?.filter((key) => hasKeyEnded(key) === filters.isEnded).reverse();
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Keys"
      lead="With a key, a program calls the interface in somebody’s name. It may do less than they may, never more."
      calls={apiCallsFor(
        filters,
        user,
        visible?.find((key) => !hasKeyEnded(key)),
      )}
      actions={
        <Button variant="primary" icon="plus" onClick={() => setOpen({ what: 'issue' })}>
          Issue a key
        </Button>
      }
    >
      <div class="row">
        <RadioGroup
          label="Which keys"
          value={filters.isEnded ? 'ended' : 'live'}
          options={[
            { value: 'live', text: 'In force' },
            { value: 'ended', text: 'Ended' },
          ]}
          onChange={(state) => setQuery({ state: state === 'ended' ? state : undefined })}
        />
        {isAdmin() && (
          <RadioGroup
            label="Whose keys"
            value={filters.isOwn ? 'me' : 'all'}
            options={[
              { value: 'all', text: 'Everybody’s' },
              { value: 'me', text: 'Mine' },
            ]}
            onChange={(of) => setQuery({ of: of === 'me' ? of : undefined })}
          />
        )}
      </div>
      {keys.fault !== undefined && <Note tone="bad">{keys.fault}</Note>}
      {visible === undefined && keys.fault === undefined && <LoadingSkeleton />}
      {visible?.length === 0 && <NoKeys {...filters} onIssue={() => setOpen({ what: 'issue' })} />}
      {visible !== undefined && visible.length > 0 && (
        <ul class="card list" aria-label="Keys">
          {visible.map((key) => (
            <KeyRow
              key={key.id}
              apiKey={key}
              owner={people.data?.find(({ user_id }) => user_id === key.user_id)}
              onNarrow={() => setOpen({ what: 'narrow', key })}
              onRevoke={() => setOpen({ what: 'revoke', key })}
            />
          ))}
        </ul>
      )}
      {open?.what === 'issue' && (
        <IssueKey people={usersToIssueFor(people.data ?? [])} onIssued={keys.reload} onClose={close} />
      )}
      {open?.what === 'narrow' && <NarrowKey narrowed={open.key} onDone={keys.reload} onClose={close} />}
      {open?.what === 'revoke' && (
        <ConfirmDialog
          title={`Revoke ${keyLabel(open.key)}?`}
          confirmLabel="Revoke"
          onClose={close}
          onConfirm={async () => {
            await runWithToast(() => client.keys.revoke(open.key.id), 'Revoked. Whoever calls with it is refused now.');
            keys.reload();
          }}
        >
          Every call with it is refused from this moment on, and it cannot be brought back. Hooks that were made with it
          stay.
        </ConfirmDialog>
      )}
    </Page>
  );
}

type KeyRowProps = {
  readonly apiKey: ApiKey;
  readonly owner: User | undefined;
  readonly onNarrow: () => void;
  readonly onRevoke: () => void;
};

function KeyRow({ apiKey, owner, onNarrow, onRevoke }: KeyRowProps) {
  return (
    <li>
      <Icon name="key" />
      <div class="grow">
        <div class="row">
          <strong>{keyLabel(apiKey)}</strong>
          <KeyState of={apiKey} />
        </div>
        <p class="small soft">
          {[
            owner === undefined ? 'Somebody who has left' : displayNameOf(owner),
            ...summarizePermissions(apiKey.permissions),
          ].join(' · ')}
        </p>
      </div>
      <div class="asides">
        <span>Last used</span>
        <Timestamp at={apiKey.last_used} />
        <span>{hasKeyEnded(apiKey) ? 'Ended' : 'Ends'}</span>
        {apiKey.revoked === '1' ? <span>by hand</span> : <Timestamp at={apiKey.expires} />}
      </div>
      {!hasKeyEnded(apiKey) && (
        <Menu
          label={`What to do with ${keyLabel(apiKey)}`}
          items={[
            { text: 'Rename or narrow…', icon: 'pencil', onPick: onNarrow },
            { text: 'Revoke…', icon: 'trash', isDanger: true, onPick: onRevoke },
          ]}
        />
      )}
    </li>
  );
}

function KeyState({ of: key }: { readonly of: ApiKey }) {
  if (key.revoked === '1') return <Badge tone="bad">revoked</Badge>;
  const left = (parseTimestamp(key.expires)?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now();
  if (left <= 0) return <Badge>expired</Badge>;
  return left < WEEK_MS ? <Badge tone="warn">ends soon</Badge> : null;
}

function NoKeys({ isEnded, isOwn, onIssue }: KeyFilters & { readonly onIssue: () => void }) {
  if (isEnded) {
    return (
      <EmptyState icon="key" title="No key has ended">
        <p>Keys that were revoked or have expired stay listed here, so that one can tell later what they were.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="key" title={isOwn ? 'You have no key' : 'Nobody has a key'}>
      <p>
        Give each program a key of its own, with no more than it needs: when one leaks, you revoke that one, and the
        others go on.
      </p>
      <Button variant="primary" icon="plus" onClick={onIssue}>
        Issue the first key
      </Button>
    </EmptyState>
  );
}

const keyLabel = (key: ApiKey) => (key.label === '' ? `Key ${key.id}` : key.label);

const hasKeyEnded = (key: ApiKey) =>
  key.revoked === '1' || (parseTimestamp(key.expires)?.getTime() ?? Number.POSITIVE_INFINITY) <= Date.now();

/**
 * Returns the users to whom the current user may issue keys: for a member only this member, for an admin everybody
 * without a higher role.
 */
function usersToIssueFor(people: readonly User[]): readonly User[] {
  const { user } = currentSession();
  if (!isAdmin()) return [user];
  return people.filter(({ role }) => user.role === 'owner' || role !== 'owner');
}

/** Returns the API calls of the screen; the calls that change a key use the newest visible key as example. */
function apiCallsFor({ isOwn }: KeyFilters, user: User, newest: ApiKey | undefined): readonly ApiCall[] {
  const body = { label: 'Release bot', permissions: ['events:read', 'hooks:write'], expires: '90d' };
  const list = isOwn ? `{ user_id: '${user.user_id}' }` : '';
  return [
    {
      description: isOwn ? 'List your keys' : 'List the keys of everybody',
      method: 'GET',
      path: isOwn ? `/keys?user_id=${user.user_id}` : '/keys',
      sdk: `keys.list(${list})`,
    },
    { description: 'Issue a key', method: 'POST', path: '/keys', body, sdk: `keys.create(${JSON.stringify(body)})` },
    ...(newest === undefined ? [] : apiCallsForKey(newest)),
  ];
}

function apiCallsForKey(key: ApiKey): readonly ApiCall[] {
  const path = `/keys/${key.id}`;
  const permissions = key.permissions.filter((one) => one.endsWith(':read'));
  return [
    {
      description: `Let ${keyLabel(key)} read only`,
      method: 'PUT',
      path,
      body: { permissions },
      sdk: `keys.update('${key.id}', ${JSON.stringify({ permissions })})`,
    },
    { description: `Revoke ${keyLabel(key)}`, method: 'DELETE', path, sdk: `keys.revoke('${key.id}')` },
  ];
}
