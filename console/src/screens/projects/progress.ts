import { useRef } from 'preact/hooks';
import type { Project } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { useQuery } from '../../app/use-query.ts';

/** Progress of a project. `tasks` contains task counts; it is undefined if the percentage was set by hand. */
export type ProjectProgress = {
  readonly percent: number;
  readonly taskCounts?: { readonly total: number; readonly completed: number };
};

/** Returns the progress that was set by hand. Undefined for 0, the default: progress is then computed from tasks. */
function readManualProgress({ progress }: Project): ProjectProgress | undefined {
  return progress === '0' ? undefined : { percent: Number(progress) };
}

async function countTasks(project_id: string, status: 'completed' | undefined, signal: AbortSignal): Promise<number> {
  const { paging } = await client.tasks.list({ project_id, status, limit: 1 }, { signal });
  return paging.total_records;
}

/** Computes the percentage of completed tasks, rounded down: it is 100 only when all tasks are completed. */
async function computeProgress({ project_id }: Project, signal: AbortSignal): Promise<ProjectProgress> {
  const totalCount = await countTasks(project_id, undefined, signal);
  const completedCount = totalCount === 0 ? 0 : await countTasks(project_id, 'completed', signal);
  return {
    percent: totalCount === 0 ? 0 : Math.floor((100 * completedCount) / totalCount),
    taskCounts: { total: totalCount, completed: completedCount },
  };
}

/**
 * Returns the progress of projects by id. Tasks are counted only for projects whose progress was not set by hand.
 *
 * @param reloadCount counter that the caller increments to count the tasks again, after tasks have changed
 */
export function useProgress(projects: readonly Project[], reloadCount = 0): ReadonlyMap<string, ProjectProgress> {
  const projectsToCount = projects.filter((project) => readManualProgress(project) === undefined);
  const { data } = useQuery(
    async (signal) =>
      new Map(
        await Promise.all(
          projectsToCount.map(async (project) => [project.project_id, await computeProgress(project, signal)] as const),
        ),
      ),
    [projectsToCount.map(({ project_id }) => project_id), reloadCount],
  );
  // Keep the previous counts visible during a reload.
  const latestProgressById = useRef(data);
  latestProgressById.current = data ?? latestProgressById.current;
  return new Map(
    projects.flatMap((project) => {
      const progress = readManualProgress(project) ?? latestProgressById.current?.get(project.project_id);
      return progress === undefined ? [] : [[project.project_id, progress] as const];
    }),
  );
}
