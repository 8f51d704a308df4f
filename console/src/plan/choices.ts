import { client } from '../client.ts';
import { useLoaded } from '../load.ts';
import { wholePage } from '../whole-page.ts';

/** The projects that can be chosen, by name: a thousand at most. */
export const useProjects = () =>
  useLoaded(async (signal) => (await wholePage(client.projects, { order: 'projectname' }, signal)).data, []);

/** The clients that can be chosen, by name: a thousand at most. */
export const useClients = () =>
  useLoaded(async (signal) => (await wholePage(client.clients, { order: 'clientname' }, signal)).data, []);
