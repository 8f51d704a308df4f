import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../../packages/sdk/src/keys.ts';
import type { User } from '../../../../packages/sdk/src/people.ts';
import { client } from '../../app/client.ts';
import { currentRoute, updateQueryParams } from '../../app/router.ts';
import { displayNameOf, isAdmin, requireSession } from '../../app/session.ts';
import { collectAll, runWithToast, useQuery } from '../../app/use-query.ts';
import type { ApiCallExample } from '../../components/api-call.tsx';
import { Badge, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { Menu } from '../../components/menu.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { parseTimestamp, RelativeTime } from '../../components/timestamp.tsx';
import { IssueKeyDialog } from './issue-key.tsx';
import { EditKeyDialog, summarizePermissions } from './permission-grid.tsx';
import './keys.css';

const WEEK_MS = 7 * 86_400_000;

/** `showsEndedKeys`: the list shows the ended keys instead of the live ones. `showsOwnKeysOnly`: only those of the current user. */
type KeyFilters = { readonly showsEndedKeys: boolean; readonly showsOwnKeysOnly: boolean };

/** Reads the filters from the query of the route. */
function readKeyFilters(query: URLSearchParams): KeyFilters {
  return { showsEndedKeys: query.get('state') === 'ended', showsOwnKeysOnly: query.get('of') === 'me' || !isAdmin() };
}

/** Screen with the list of API keys: permissions, owner and last use. */
export default function KeysScreen() {
  const filters = readKeyFilters(currentRoute.value.query);
  const { user } = requireSession();
  const keysQuery = useQuery(
    (signal) => collectAll(client.keys.each(filters.showsOwnKeysOnly ? { user_id: user.user_id } : {}, { signal })),
    [filters.showsOwnKeysOnly],
  );
  const usersQuery = useQuery((signal) => collectAll(client.users.each({}, { signal })), []);
  const [shownDialog, setShownDialog] = useState<{ action: 'issue' } | { action: 'narrow' | 'revoke'; key: ApiKey }>();
  const visibleKeys = keysQuery.data?.filter((key) => hasKeyEnded(key) === filters.showsEndedKeys).reverse();
  const closeDialog = () => setShownDialog(undefined);
  return (
    <Page
      title="Keys"
      intro="With a key, a program calls the interface in somebody’s name. It may do less than they may, never more."
      calls={apiCallsForKeyList(
        filters,
        user,
        visibleKeys?.find((key) => !hasKeyEnded(key)),
      )}
      actions={
        <Button variant="primary" icon="plus" onClick={() => setShownDialog({ action: 'issue' })}>
          Issue a key
        </Button>
      }
    >
      <div class="row">
        <RadioGroup
          label="Which keys"
          value={filters.showsEndedKeys ? 'ended' : 'live'}
          options={[
            { value: 'live', text: 'In force' },
            { value: 'ended', text: 'Ended' },
          ]}
          onChange={(state) => updateQueryParams({ state: state === 'ended' ? state : undefined })}
        />
        {isAdmin() && (
          <RadioGroup
            label="Whose keys"
            value={filters.showsOwnKeysOnly ? 'me' : 'all'}
            options={[
              { value: 'all', text: 'Everybody’s' },
              { value: 'me', text: 'Mine' },
            ]}
            onChange={(ownerFilter) => updateQueryParams({ of: ownerFilter === 'me' ? ownerFilter : undefined })}
          />
        )}
      </div>
      {keysQuery.errorText !== undefined && <Note tone="bad">{keysQuery.errorText}</Note>}
      {visibleKeys === undefined && keysQuery.errorText === undefined && <LoadingSkeleton />}
      {visibleKeys?.length === 0 && <NoKeys {...filters} onIssue={() => setShownDialog({ action: 'issue' })} />}
      {visibleKeys !== undefined && visibleKeys.length > 0 && (
        <ul class="card list" aria-label="Keys">
          {visibleKeys.map((key) => (
            <KeyRow
              key={key.id}
              apiKey={key}
              owner={usersQuery.data?.find(({ user_id }) => user_id === key.user_id)}
              onEdit={() => setShownDialog({ action: 'narrow', key })}
              onRevoke={() => setShownDialog({ action: 'revoke', key })}
            />
          ))}
        </ul>
      )}
      {shownDialog?.action === 'issue' && (
        <IssueKeyDialog
          people={listKeyRecipients(usersQuery.data ?? [])}
          onIssued={keysQuery.reload}
          onClose={closeDialog}
        />
      )}
      {shownDialog?.action === 'narrow' && (
        <EditKeyDialog apiKey={shownDialog.key} onChanged={keysQuery.reload} onClose={closeDialog} />
      )}
      {shownDialog?.action === 'revoke' && (
        <ConfirmDialog
          title={`Revoke ${keyLabelOf(shownDialog.key)}?`}
          confirmLabel="Revoke"
          onClose={closeDialog}
          onConfirm={async () => {
            await runWithToast(
              () => client.keys.revoke(shownDialog.key.id),
              'Revoked. Whoever calls with it is refused now.',
            );
            keysQuery.reload();
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
  readonly onEdit: () => void;
  readonly onRevoke: () => void;
};

function KeyRow({ apiKey, owner, onEdit, onRevoke }: KeyRowProps) {
  return (
    <li>
      <Icon name="key" />
      <div class="grow">
        <div class="row">
          <strong>{keyLabelOf(apiKey)}</strong>
          <KeyStateBadge apiKey={apiKey} />
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
        <RelativeTime timestamp={apiKey.last_used} />
        <span>{hasKeyEnded(apiKey) ? 'Ended' : 'Ends'}</span>
        {apiKey.revoked === '1' ? <span>by hand</span> : <RelativeTime timestamp={apiKey.expires} />}
      </div>
      {!hasKeyEnded(apiKey) && (
        <Menu
          label={`What to do with ${keyLabelOf(apiKey)}`}
          items={[
            { text: 'Rename or narrow…', icon: 'pencil', onPick: onEdit },
            { text: 'Revoke…', icon: 'trash', isDestructive: true, onPick: onRevoke },
          ]}
        />
      )}
    </li>
  );
}

function KeyStateBadge({ apiKey }: { readonly apiKey: ApiKey }) {
  if (apiKey.revoked === '1') return <Badge tone="bad">revoked</Badge>;
  const remainingMs = (parseTimestamp(apiKey.expires)?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now();
  if (remainingMs <= 0) return <Badge>expired</Badge>;
  return remainingMs < WEEK_MS ? <Badge tone="warn">ends soon</Badge> : null;
}

function NoKeys({ showsEndedKeys, showsOwnKeysOnly, onIssue }: KeyFilters & { readonly onIssue: () => void }) {
  if (showsEndedKeys) {
    return (
      <EmptyState icon="key" title="No key has ended">
        <p>Keys that were revoked or have expired stay listed here, so that one can tell later what they were.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="key" title={showsOwnKeysOnly ? 'You have no key' : 'Nobody has a key'}>
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

const keyLabelOf = (key: ApiKey) => (key.label === '' ? `Key ${key.id}` : key.label);

const hasKeyEnded = (key: ApiKey) =>
  key.revoked === '1' || (parseTimestamp(key.expires)?.getTime() ?? Number.POSITIVE_INFINITY) <= Date.now();

/**
 * Returns the users to whom the current user may issue keys: for a member only this member, for an admin everybody
 * without a higher role.
 */
function listKeyRecipients(users: readonly User[]): readonly User[] {
  const { user } = requireSession();
  if (!isAdmin()) return [user];
  return users.filter(({ role }) => user.role === 'owner' || role !== 'owner');
}

/** Returns the API calls of the screen; the calls that change a key use the newest visible key as example. */
function apiCallsForKeyList(
  { showsOwnKeysOnly }: KeyFilters,
  user: User,
  newestKey: ApiKey | undefined,
): readonly ApiCallExample[] {
  const exampleBody = { label: 'Release bot', permissions: ['events:read', 'hooks:write'], expires: '90d' };
  const listArguments = showsOwnKeysOnly ? `{ user_id: '${user.user_id}' }` : '';
  return [
    {
      description: showsOwnKeysOnly ? 'List your keys' : 'List the keys of everybody',
      method: 'GET',
      path: showsOwnKeysOnly ? `/keys?user_id=${user.user_id}` : '/keys',
      sdk: `keys.list(${listArguments})`,
    },
    {
      description: 'Issue a key',
      method: 'POST',
      path: '/keys',
      body: exampleBody,
      sdk: `keys.create(${JSON.stringify(exampleBody)})`,
    },
    ...(newestKey === undefined ? [] : apiCallsForKey(newestKey)),
  ];
}

function apiCallsForKey(key: ApiKey): readonly ApiCallExample[] {
  const path = `/keys/${key.id}`;
  const permissions = key.permissions.filter((permission) => permission.endsWith(':read'));
  return [
    {
      description: `Let ${keyLabelOf(key)} read only`,
      method: 'PUT',
      path,
      body: { permissions },
      sdk: `keys.update('${key.id}', ${JSON.stringify({ permissions })})`,
    },
    { description: `Revoke ${keyLabelOf(key)}`, method: 'DELETE', path, sdk: `keys.revoke('${key.id}')` },
  ];
}
