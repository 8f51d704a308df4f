import type { FunctionComponent } from 'preact';
import type { IconName } from '../components/icon.tsx';
import type { RecordProps, ScreenProps } from './router.ts';

/** Definition of a screen: path segment, title, audience and lazy import. */
export type ScreenDefinition = {
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  /** Heading in the sidebar; undefined for a screen that has no sidebar entry. */
  readonly sidebarGroup: 'Plan' | 'Integrate' | 'Account' | undefined;
  readonly isAdminOnly?: true;
  load(): Promise<{ default: FunctionComponent<ScreenProps> }>;
  /** Loads the page of a single record; undefined for a screen without such pages. */
  loadRecordPage?(): Promise<{ default: FunctionComponent<RecordProps> }>;
};

/** All screens, in the order of the sidebar. The first screen is the start page. */
export const screens: readonly ScreenDefinition[] = [
  {
    name: 'calendar',
    title: 'Calendar',
    icon: 'calendar',
    sidebarGroup: 'Plan',
    load: () => import('../screens/calendar/calendar.tsx'),
  },
  {
    name: 'projects',
    title: 'Projects',
    icon: 'folder',
    sidebarGroup: 'Plan',
    load: () => import('../screens/projects/projects.tsx'),
    loadRecordPage: () => import('../screens/projects/project.tsx'),
  },
  {
    name: 'tasks',
    title: 'Tasks',
    icon: 'task',
    sidebarGroup: 'Plan',
    load: () => import('../screens/tasks/tasks.tsx'),
    loadRecordPage: () => import('../screens/tasks/task.tsx'),
  },
  { name: 'time', title: 'Time', icon: 'clock', sidebarGroup: 'Plan', load: () => import('../screens/time/time.tsx') },
  {
    name: 'clients',
    title: 'Clients',
    icon: 'archive',
    sidebarGroup: 'Plan',
    load: () => import('../screens/clients/clients.tsx'),
    loadRecordPage: () => import('../screens/clients/client.tsx'),
  },
  {
    name: 'contacts',
    title: 'Contacts',
    icon: 'user',
    sidebarGroup: 'Plan',
    load: () => import('../screens/contacts/contacts.tsx'),
    loadRecordPage: () => import('../screens/contacts/contact.tsx'),
  },
  {
    name: 'overview',
    title: 'Overview',
    icon: 'gauge',
    sidebarGroup: 'Integrate',
    load: () => import('../screens/overview/overview.tsx'),
  },
  {
    name: 'hooks',
    title: 'Hooks',
    icon: 'bell',
    sidebarGroup: 'Integrate',
    load: () => import('../screens/hooks/hooks.tsx'),
  },
  {
    name: 'activity',
    title: 'Activity',
    icon: 'activity',
    sidebarGroup: 'Integrate',
    load: () => import('../screens/activity/feed.tsx'),
    loadRecordPage: () => import('../screens/activity/occurrence-detail.tsx'),
  },
  { name: 'keys', title: 'Keys', icon: 'key', sidebarGroup: 'Account', load: () => import('../screens/keys/keys.tsx') },
  {
    name: 'people',
    title: 'People',
    icon: 'people',
    sidebarGroup: 'Account',
    isAdminOnly: true,
    load: () => import('../screens/people/people.tsx'),
  },
  {
    name: 'teams',
    title: 'Teams',
    icon: 'people',
    sidebarGroup: 'Account',
    load: () => import('../screens/teams/teams.tsx'),
  },
  {
    name: 'you',
    title: 'You',
    icon: 'user',
    sidebarGroup: 'Account',
    load: () => import('../screens/profile/profile.tsx'),
  },
];
