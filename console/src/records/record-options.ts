import { client } from '../app/client.ts';
import { wholePage } from '../app/full-page-navigation.ts';
import { useLoaded } from '../app/use-query.ts';

/** Options of project selects: at most 1,000, sorted by name. */
export const useProjects = () =>
  useLoaded(async (signal) => (await wholePage(client.projects, { order: 'projectname' }, signal)).data, []);

/** Options of client selects: at most 1,000, sorted by name. */
export const useClients = () =>
  useLoaded(async (signal) => (await wholePage(client.clients, { order: 'clientname' }, signal)).data, []);
