import type { FunctionComponent } from 'preact';
import type { IconName } from '../components/icon.tsx';
import type { RecordProps, ScreenProps } from './router.ts';

/** Definition of a screen. Its name is the first path segment, such as `calendar` in the URL `#/calendar`. */
export type ScreenDefinition = {
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  /** Sidebar heading under which the screen is listed; undefined for a screen that has no sidebar entry. */
  readonly sidebarGroup: 'Plan' | 'Integrate' | 'Account' | undefined;
  readonly isAdminOnly?: true;
  /** Imports the component of the screen, on the first visit. */
  loadScreen(): Promise<{ default: FunctionComponent<ScreenProps> }>;
  /** Imports the page of a single record; undefined for a screen without such pages. */
  loadRecordPage?(): Promise<{ default: FunctionComponent<RecordProps> }>;
};

/** All screens, in the order of the sidebar. The first screen is the start page. */
export const screens: readonly ScreenDefinition[] = [
  {
    name: 'calendar',
    title: 'Calendar',
    icon: 'calendar',
    sidebarGroup: 'Plan',
    loadScreen: () => import('../screens/calendar/calendar.tsx'),
  },
  {
    name: 'projects',
    title: 'Projects',
    icon: 'folder',
    sidebarGroup: 'Plan',
    loadScreen: () => import('../screens/projects/projects.tsx'),
    loadRecordPage: () => import('../screens/projects/project.tsx'),
  },
  {
    name: 'tasks',
    title: 'Tasks',
    icon: 'task',
    sidebarGroup: 'Plan',
    loadScreen: () => import('../screens/tasks/tasks.tsx'),
    loadRecordPage: () => import('../screens/tasks/task.tsx'),
  },
  {
    name: 'time',
    title: 'Time',
    icon: 'clock',
    sidebarGroup: 'Plan',
    loadScreen: () => import('../screens/time/time.tsx'),
  },
  {
    name: 'clients',
    title: 'Clients',
    icon: 'archive',
    sidebarGroup: 'Plan',
    loadScreen: () => import('../screens/clients/clients.tsx'),
    loadRecordPage: () => import('../screens/clients/client.tsx'),
  },
  {
    name: 'contacts',
    title: 'Contacts',
    icon: 'user',
    sidebarGroup: 'Plan',
    loadScreen: () => import('../screens/contacts/contacts.tsx'),
    loadRecordPage: () => import('../screens/contacts/contact.tsx'),
  },
  {
    name: 'overview',
    title: 'Overview',
    icon: 'gauge',
    sidebarGroup: 'Integrate',
    loadScreen: () => import('../screens/overview/overview.tsx'),
  },
  {
    name: 'hooks',
    title: 'Webhooks',
    icon: 'bell',
    sidebarGroup: 'Integrate',
    loadScreen: () => import('../screens/hooks/hooks.tsx'),
  },
  {
    name: 'activity',
    title: 'Activity',
    icon: 'activity',
    sidebarGroup: 'Integrate',
    loadScreen: () => import('../screens/activity/feed.tsx'),
    loadRecordPage: () => import('../screens/activity/occurrence-detail.tsx'),
  },
  {
    name: 'keys',
    title: 'Keys',
    icon: 'key',
    sidebarGroup: 'Account',
    loadScreen: () => import('../screens/keys/keys.tsx'),
  },
  {
    name: 'people',
    title: 'People',
    icon: 'people',
    sidebarGroup: 'Account',
    isAdminOnly: true,
    loadScreen: () => import('../screens/people/people.tsx'),
  },
  {
    name: 'teams',
    title: 'Teams',
    icon: 'people',
    sidebarGroup: 'Account',
    loadScreen: () => import('../screens/teams/teams.tsx'),
  },
  {
    name: 'you',
    title: 'You',
    icon: 'user',
    sidebarGroup: 'Account',
    loadScreen: () => import('../screens/profile/profile.tsx'),
  },
];
