import { ownRecordId } from '../../http/fields/reference-fields.ts';
import { requiredName, shortText } from '../../http/fields/scalar-fields.ts';
import { defineResource } from '../core/define-resource.ts';
import { assignedUsers } from '../core/domain-fields.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';

/** Fields of a team, a group of users who are assigned together (C37). */
const teamFields = {
  team_id: ownRecordId('Identifier of the team.'),
  team_name: requiredName('Name of the team.'),
  color: shortText('Colour.', 32),
  users: assignedUsers('The members.'),
};

export const teams = defineResource('team', {
  fields: teamFields,
  filters: {},
  beforeRemove: (write, teamId) => write.deleteFrom('team_assignments').where('team_id', '=', teamId).execute(),
});

export const teamRoutes = createResourceRoutes(teams, {
  list: 'Lists teams.',
  create: 'Creates a team; for admins.',
  get: 'Returns a team.',
  change: 'Changes the given fields of a team; for admins.',
  remove: 'Deletes a team and its assignments; for admins.',
});
