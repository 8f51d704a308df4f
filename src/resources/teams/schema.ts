import { assigned, key, line, name } from '../../http/fields.ts';

/** A team: users who are assigned together (C37). */
export const teamFields = {
  team_id: key('Identifier of the team.'),
  team_name: name('Name of the team.'),
  color: line('Colour.', 32),
  users: assigned('Who is in it.'),
};
