import { client } from '../app/client.ts';
import { wholePage } from '../app/full-page-navigation.ts';
import { useLoaded } from '../app/use-query.ts';

/** The projects that can be chosen, by name: a thousand at most. */
export const useProjects = () =>
  useLoaded(async (signal) => (await wholePage(client.projects, { order: 'projectname' }, signal)).data, []);

/** The clients that can be chosen, by name: a thousand at most. */
export const useClients = () =>
  useLoaded(async (signal) => (await wholePage(client.clients, { order: 'clientname' }, signal)).data, []);
