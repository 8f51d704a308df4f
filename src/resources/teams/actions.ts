import { recordsOf } from '../records.ts';
import { teamFields } from './schema.ts';

export const teams = recordsOf('team', {
  fields: teamFields,
  filters: {},
  removing: (write, teamId) => write.deleteFrom('team_assignments').where('team_id', '=', teamId).execute(),
});
