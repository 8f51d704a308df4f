import { useEffect, useMemo } from 'preact/hooks';
import { client } from '../../app/client.ts';
import { listFullPage } from '../../app/full-page-navigation.ts';
import { isAdmin } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { eventCache } from './calendar-actions.ts';
import { followChanges } from './follow-changes.ts';
import { firstWeekday } from './locale.ts';
import { type Day, plusViewPeriods, visibleDaysFor } from './time-math.ts';

/** Loads the visible events and the projects, and keeps both current by live updates. */
export function useCalendarData(view: 'month' | 'week' | 'day' | 'list', day: Day, includesTasks: boolean) {
  const projectsQuery = useQuery((signal) => listFullPage(client.projects, { order: 'projectname' }, signal), []);
  const projects = useMemo(
    () => new Map((projectsQuery.data?.data ?? []).map((project) => [project.project_id, project])),
    [projectsQuery.data],
  );
  useEffect(() => {
    const abortController = new AbortController();
    const feedScope = isAdmin() ? 'account' : 'own';
    // The feed of a member contains only the member's own changes, so cached days may be stale. They are loaded
    // again when they are shown.
    eventCache.isKeptFresh = feedScope === 'account';
    void followChanges(
      feedScope,
      { reloadEvents: () => eventCache.reload(), reloadProjects: async () => projectsQuery.reload() },
      abortController.signal,
    );
    const reloadIfVisible = () => !document.hidden && void eventCache.reload();
    document.addEventListener('visibilitychange', reloadIfVisible);
    return () => {
      abortController.abort();
      document.removeEventListener('visibilitychange', reloadIfVisible);
      eventCache.close();
    };
  }, []);
  const days = visibleDaysFor(view, day, firstWeekday);
  useEffect(() => {
    const adjacentRanges = [1, -1].map((periodOffset) =>
      visibleDaysFor(view, plusViewPeriods(view, day, periodOffset), firstWeekday),
    );
    eventCache.showRange({ days, includesTasks }, adjacentRanges);
  }, [view, days.from, includesTasks]);
  const visibleData = eventCache.visibleData.value;
  return {
    projects,
    rangeData: visibleData?.days.from === days.from && visibleData.days.to === days.to ? visibleData : undefined,
  };
}
