import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AssignedTeam, AssignedUser, Id } from '../../../packages/sdk/src/api-types.ts';
import { client } from '../app/client.ts';
import { listFullPage } from '../app/full-page-navigation.ts';
import { assigneeIdsOf, describeFieldError, EditConflictError, updateIfUnchanged } from '../app/optimistic-update.ts';
import { displayNameOf } from '../app/session.ts';
import { runWithToast, useQuery } from '../app/use-query.ts';
import { ColorDot, InitialsAvatar, LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Checkbox } from '../components/field.tsx';
import { Icon } from '../components/icon.tsx';
import { showToast } from '../components/toast.tsx';
import type { EditableResource } from './editable-fields.tsx';

const MAX_AVATARS = 3;

type AssigneesButtonProps<T> = {
  readonly editableResource: EditableResource<T, { users?: readonly Id[]; teams?: readonly Id[] }>;
  readonly record: T;
  readonly onChange: (record: T) => void;
  /** Phrase in the texts of button and dialog: people are `assigned to` a task, but `in` a team. */
  readonly relation?: 'assigned to' | 'in';
};

/** A record with assignees: users and, for some resources, teams. */
type RecordWithAssignees = { readonly users: readonly AssignedUser[]; readonly teams?: readonly AssignedTeam[] };

/** Button that shows the assignees of a record and opens the assignee picker. */
export function AssigneesButton<T extends RecordWithAssignees>(props: AssigneesButtonProps<T>) {
  const [isOpen, setOpen] = useState(false);
  const { editableResource, record, relation = 'assigned to' } = props;
  const { users, teams = [] } = record;
  const assigneeNames = [
    ...users.map(({ user_name }) => user_name || 'somebody without a name'),
    ...teams.map(({ team_name }) => team_name),
  ].join(', ');
  return (
    <>
      <button
        type="button"
        class="inline people"
        title={assigneeNames}
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <span class="hidden-text">{`${capitalize(relation)} ${editableResource.nameOf(record)}: ${assigneeNames || 'nobody'}`}</span>
        {users.slice(0, MAX_AVATARS).map(({ user_id, user_name }) => (
          <InitialsAvatar key={user_id} name={user_name || '?'} />
        ))}
        {users.length > MAX_AVATARS && (
          <span class="small soft" aria-hidden="true">
            +{users.length - MAX_AVATARS}
          </span>
        )}
        {teams.map(({ team_id, team_name }) => (
          <span key={team_id} class="chip small" aria-hidden="true">
            {team_name}
          </span>
        ))}
        {users.length + teams.length === 0 && (
          <span class="nothing">
            <Icon name="user" />
          </span>
        )}
      </button>
      {isOpen && <AssigneePicker {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Loads all users and teams that can be assigned. */
const loadUsersAndTeams = async (signal: AbortSignal) => {
  const [users, teams] = await Promise.all([client.users.list({}, { signal }), listFullPage(client.teams, {}, signal)]);
  return { users: users.data, teams: teams.data };
};

const assigneeIdsByTypeOf = ({
  users,
  teams,
}: RecordWithAssignees): { readonly users: readonly Id[]; readonly teams?: readonly Id[] } => ({
  users: assigneeIdsOf(users),
  ...(teams !== undefined && { teams: assigneeIdsOf(teams) }),
});

const capitalize = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

function AssigneePicker<T extends RecordWithAssignees>({
  editableResource,
  record,
  onChange,
  relation = 'assigned to',
  onClose,
}: AssigneesButtonProps<T> & { readonly onClose: () => void }) {
  const { data, errorText: loadError } = useQuery(loadUsersAndTeams, []);
  const [chosenAssigneeIds, setChosenAssigneeIds] = useState(assigneeIdsByTypeOf(record));
  const [saveError, setSaveError] = useState<string>();
  const recordId = editableResource.idOf(record);
  const saveAssignees = async (event: Event) => {
    event.preventDefault();
    try {
      const updatedRecord = await updateIfUnchanged(editableResource.resource, recordId, chosenAssigneeIds, record);
      const previousAssigneeIds = assigneeIdsByTypeOf(record);
      onChange(updatedRecord);
      onClose();
      showToast('People changed.', {
        undo: () =>
          void runWithToast(async () =>
            onChange(await updateIfUnchanged(editableResource.resource, recordId, previousAssigneeIds, updatedRecord)),
          ),
      });
    } catch (error) {
      if (error instanceof EditConflictError) onChange(error.currentRecord as T);
      setSaveError(
        error instanceof EditConflictError
          ? `Somebody else has changed who is ${relation} it. Look again, then save.`
          : describeFieldError(error, 'People'),
      );
      if (error instanceof EditConflictError) setChosenAssigneeIds(assigneeIdsByTypeOf(error.currentRecord as T));
    }
  };
  const renderCheckbox = (
    assigneeType: 'users' | 'teams',
    assigneeId: string,
    assigneeName: string,
    avatar: ComponentChildren,
  ) => (
    <Checkbox
      key={assigneeId}
      label={
        <span class="row">
          {avatar}
          {assigneeName}
        </span>
      }
      checked={chosenAssigneeIds[assigneeType]?.includes(assigneeId) ?? false}
      onChange={(isChosen) => {
        const otherChosenIds = (chosenAssigneeIds[assigneeType] ?? []).filter((otherId) => otherId !== assigneeId);
        setChosenAssigneeIds({
          ...chosenAssigneeIds,
          [assigneeType]: isChosen ? [...otherChosenIds, assigneeId] : otherChosenIds,
        });
      }}
    />
  );
  return (
    <Dialog title={`Who is ${relation} ${editableResource.nameOf(record)}?`} onClose={onClose}>
      <form class="stack" onSubmit={saveAssignees}>
        {saveError !== undefined && <Note tone="bad">{saveError}</Note>}
        {loadError !== undefined && <Note tone="bad">{loadError}</Note>}
        {data === undefined && loadError === undefined && <LoadingSkeleton lineCount={2} />}
        {data?.users.map((user) =>
          renderCheckbox('users', user.user_id, displayNameOf(user), <InitialsAvatar name={displayNameOf(user)} />),
        )}
        {chosenAssigneeIds.teams !== undefined && data !== undefined && data.teams.length > 0 && (
          <>
            <h3>Teams</h3>
            {data.teams.map(({ team_id, team_name, color }) =>
              renderCheckbox('teams', team_id, team_name, <ColorDot color={color} />),
            )}
          </>
        )}
        <div class="ends">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" disabled={data === undefined}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
