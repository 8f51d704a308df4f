import type { FunctionComponent } from 'preact';
import type { IconName } from '../components/icon.tsx';
import type { RecordProps, ScreenProps } from './router.ts';

/** A screen, as a row: its name in the address, how it is called, who sees it, and where it is. */
export type Screen = {
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  /** Under which heading it stands at the side; undefined where something else leads there. */
  readonly group: 'Plan' | 'Integrate' | 'Account' | undefined;
  readonly forAdmins?: true;
  load(): Promise<{ default: FunctionComponent<ScreenProps> }>;
  /** The page of one of its records, where that is another one. */
  one?(): Promise<{ default: FunctionComponent<RecordProps> }>;
};

/** Every screen, in the order of the side. The first one is shown first. */
export const screens: readonly Screen[] = [
  {
    name: 'calendar',
    title: 'Calendar',
    icon: 'calendar',
    group: 'Plan',
    load: () => import('../screens/calendar/calendar.tsx'),
  },
  {
    name: 'projects',
    title: 'Projects',
    icon: 'folder',
    group: 'Plan',
    load: () => import('../screens/projects/projects.tsx'),
    one: () => import('../screens/projects/project.tsx'),
  },
  {
    name: 'tasks',
    title: 'Tasks',
    icon: 'task',
    group: 'Plan',
    load: () => import('../screens/tasks/tasks.tsx'),
    one: () => import('../screens/tasks/task.tsx'),
  },
  { name: 'time', title: 'Time', icon: 'clock', group: 'Plan', load: () => import('../screens/time/time.tsx') },
  {
    name: 'clients',
    title: 'Clients',
    icon: 'archive',
    group: 'Plan',
    load: () => import('../screens/clients/clients.tsx'),
    one: () => import('../screens/clients/client.tsx'),
  },
  {
    name: 'contacts',
    title: 'Contacts',
    icon: 'user',
    group: 'Plan',
    load: () => import('../screens/contacts/contacts.tsx'),
    one: () => import('../screens/contacts/contact.tsx'),
  },
  {
    name: 'overview',
    title: 'Overview',
    icon: 'gauge',
    group: 'Integrate',
    load: () => import('../screens/overview/overview.tsx'),
  },
  { name: 'hooks', title: 'Hooks', icon: 'bell', group: 'Integrate', load: () => import('../screens/hooks/hooks.tsx') },
  {
    name: 'activity',
    title: 'Activity',
    icon: 'activity',
    group: 'Integrate',
    load: () => import('../screens/activity/feed.tsx'),
    one: () => import('../screens/activity/occurrence-detail.tsx'),
  },
  { name: 'keys', title: 'Keys', icon: 'key', group: 'Account', load: () => import('../screens/keys/keys.tsx') },
  {
    name: 'people',
    title: 'People',
    icon: 'people',
    group: 'Account',
    forAdmins: true,
    load: () => import('../screens/people/people.tsx'),
  },
  { name: 'teams', title: 'Teams', icon: 'people', group: 'Account', load: () => import('../screens/teams/teams.tsx') },
  {
    name: 'you',
    title: 'You',
    icon: 'user',
    group: 'Account',
    load: () => import('../screens/profile/profile.tsx'),
  },
];
