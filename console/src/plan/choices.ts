import { client } from '../client.ts';
import { useLoaded } from '../load.ts';

/** The projects that can be chosen, by name: a thousand at most. */
export const useProjects = () =>
  useLoaded(async (signal) => (await client.projects.list({ order: 'projectname' }, { signal })).data, []);

/** The clients that can be chosen, by name: a thousand at most. */
export const useClients = () =>
  useLoaded(async (signal) => (await client.clients.list({ order: 'clientname' }, { signal })).data, []);
