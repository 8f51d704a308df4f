import { useRef } from 'preact/hooks';
import type { Project } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { useQuery } from '../../app/use-query.ts';

/** Progress of a project. `tasks` counts its tasks; undefined when the percentage was set by hand. */
export type ProjectProgress = {
  readonly percent: number;
  readonly tasks?: { readonly all: number; readonly completed: number };
};

/** Returns the progress that was set by hand; undefined for 0, the default, which means "computed from tasks". */
export function manualProgress({ progress }: Project): ProjectProgress | undefined {
  return progress === '0' ? undefined : { percent: Number(progress) };
}

async function countTasks(project_id: string, status: 'completed' | undefined, signal: AbortSignal): Promise<number> {
  const { paging } = await client.tasks.list({ project_id, status, limit: 1 }, { signal });
  return paging.total_records;
}

/** Computes the percentage of completed tasks, rounded down: it is 100 only when all tasks are completed. */
async function computeProgress({ project_id }: Project, signal: AbortSignal): Promise<ProjectProgress> {
  const all = await countTasks(project_id, undefined, signal);
  const completed = all === 0 ? 0 : await countTasks(project_id, 'completed', signal);
  return { percent: all === 0 ? 0 : Math.floor((100 * completed) / all), tasks: { all, completed } };
}

/**
 * Returns the progress of projects by id. Tasks are counted only for projects whose progress was not set by hand.
 *
 * @param reloads incremented when tasks were completed, added or deleted, so that tasks are counted again
 */
export function useProgress(projects: readonly Project[], reloads = 0): ReadonlyMap<string, ProjectProgress> {
  const computedProjects = projects.filter((project) => manualProgress(project) === undefined);
  const { data } = useQuery(
    async (signal) =>
      new Map(
        await Promise.all(
          computedProjects.map(async (one) => [one.project_id, await computeProgress(one, signal)] as const),
        ),
      ),
    [computedProjects.map(({ project_id }) => project_id), reloads],
  );
  // Keep the previous counts visible during a reload.
  const latest = useRef(data);
  latest.current = data ?? latest.current;
  return new Map(
    projects.flatMap((project) => {
      const progress = manualProgress(project) ?? latest.current?.get(project.project_id);
      return progress === undefined ? [] : [[project.project_id, progress] as const];
    }),
  );
}
