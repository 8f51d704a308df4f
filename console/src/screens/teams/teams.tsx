import type { Team, TeamChanges } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { isAdmin, requireSession } from '../../app/session.ts';
import { ColorDot } from '../../components/badge.tsx';
import { Menu } from '../../components/menu.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { AssigneesButton } from '../../records/assignee-picker.tsx';
import { type DeletableResource, useDelete } from '../../records/delete-with-undo.tsx';
import {
  defineColorField,
  defineTextField,
  type EditableResource,
  InlineField,
} from '../../records/editable-fields.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { RECORDS_PER_PAGE, readPageOffset, useRecords } from '../../records/records.ts';
import '../../records/records.css';

const teamResource: EditableResource<Team, TeamChanges> & DeletableResource<Team> = {
  resource: client.teams,
  idOf: ({ team_id }) => team_id,
  nameOf: ({ team_name }) => team_name,
  findDeleteWarning: async () => ({
    confirmLabel: 'Delete',
    text: 'What it is assigned to stays, without it, and so do the people in it. This cannot be taken back.',
  }),
};

const teamNameField = defineTextField<Team, TeamChanges>('team_name', 'Name');

/** Screen with the teams of the account. Only admins can change teams. */
export default function TeamsScreen() {
  const filters = { limit: RECORDS_PER_PAGE, offset: readPageOffset() };
  const records = useRecords((signal) => listFullPage(client.teams, filters, signal), [filters], teamResource.idOf);
  const exampleTeam = { team_name: 'Foundry', users: [requireSession().user.user_id] };
  const deletion = useDelete(teamResource, { onDeleted: records.remove, onRestored: records.append });
  return (
    <Page
      title="Teams"
      intro="People who are assigned together, to projects, tasks and subtasks."
      calls={[
        { description: 'List the teams', method: 'GET', path: '/teams', sdk: 'teams.list()' },
        {
          description: 'Add a team',
          method: 'POST',
          path: '/teams',
          body: exampleTeam,
          sdk: `teams.create(${JSON.stringify(exampleTeam)})`,
        },
      ]}
    >
      <RecordList
        records={records}
        nounForms={['team', 'teams']}
        columns={['Team', 'Colour', 'People']}
        emptyState={
          <EmptyState icon="people" title="No teams yet">
            <p>
              {isAdmin()
                ? 'Write a name below, then choose who is in it.'
                : 'An admin of the account can add one and say who is in it.'}
            </p>
          </EmptyState>
        }
        renderRow={(team) =>
          isAdmin() ? (
            <TeamRow
              key={team.team_id}
              team={team}
              onChange={records.replace}
              onDelete={() => deletion.startDelete(team)}
            />
          ) : (
            <ReadOnlyTeamRow key={team.team_id} team={team} />
          )
        }
        createRecord={isAdmin() ? (team_name) => client.teams.create({ team_name }) : undefined}
      />
      {deletion.confirmDialog}
    </Page>
  );
}

type TeamRowProps = {
  readonly team: Team;
  readonly onChange: (team: Team) => void;
  readonly onDelete: () => void;
};

function TeamRow({ team, onChange, onDelete }: TeamRowProps) {
  const fieldProps = { editableResource: teamResource, record: team, onChange };
  return (
    <tr>
      <td class="name">
        <InlineField {...fieldProps} field={teamNameField} />
      </td>
      <td class="state">
        <InlineField {...fieldProps} field={defineColorField<Team, TeamChanges>(team)} />
      </td>
      <td>
        <AssigneesButton {...fieldProps} relation="in" />
      </td>
      <td class="more">
        <Menu
          label={`More for ${team.team_name}`}
          items={[{ text: 'Delete', icon: 'trash', isDestructive: true, onPick: onDelete }]}
        />
      </td>
    </tr>
  );
}

/** Read-only row of a team, for users who are not admins. */
function ReadOnlyTeamRow({ team: { team_name, color, users } }: { readonly team: Team }) {
  return (
    <tr>
      <td class="name">{team_name}</td>
      <td class="state">
        <ColorDot color={color} />
      </td>
      <td>{users.map(({ user_name }) => user_name).join(', ')}</td>
      <td class="more" />
    </tr>
  );
}
