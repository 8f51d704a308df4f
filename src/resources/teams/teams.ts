import { assigned, key, name, shortText } from '../../http/fields/field-types.ts';
import { defineResource } from '../core/define-resource.ts';
import { resourceRoutes } from '../core/resource-routes.ts';

/** Fields of a team: users who are assigned together (C37). */
export const teamFields = {
  team_id: key('Identifier of the team.'),
  team_name: name('Name of the team.'),
  color: shortText('Colour.', 32),
  users: assigned('Who is in it.'),
};

export const teams = defineResource('team', {
  fields: teamFields,
  filters: {},
  removing: (write, teamId) => write.deleteFrom('team_assignments').where('team_id', '=', teamId).execute(),
});

export const teamRoutes = resourceRoutes(teams, {
  list: 'Teams.',
  create: 'Adds a team; for admins.',
  one: 'One team.',
  change: 'Changes what is given of a team; for admins.',
  remove: 'Deletes a team; for admins. What it was assigned to stays, without it.',
});
