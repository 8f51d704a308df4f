import { useRef } from 'preact/hooks';
import type { Project } from '../../../../packages/sdk/src/projects.ts';
import { client } from '../../app/client.ts';
import { useLoaded } from '../../app/use-query.ts';

/** How far a project is: percent, and of how many tasks so many are completed; without counts it was set by hand. */
export type Progress = {
  readonly percent: number;
  readonly tasks?: { readonly all: number; readonly completed: number };
};

/** What somebody set by hand counts; 0 is what a project has before anybody did. */
export function setByHand({ progress }: Project): Progress | undefined {
  return progress === '0' ? undefined : { percent: Number(progress) };
}

async function count(project_id: string, status: 'completed' | undefined, signal: AbortSignal): Promise<number> {
  const { paging } = await client.tasks.list({ project_id, status, limit: 1 }, { signal });
  return paging.total_records;
}

/** The share of a project's tasks that is completed, in whole percent: 100 only when all are. */
async function ofTasks({ project_id }: Project, signal: AbortSignal): Promise<Progress> {
  const all = await count(project_id, undefined, signal);
  const completed = all === 0 ? 0 : await count(project_id, 'completed', signal);
  return { percent: all === 0 ? 0 : Math.floor((100 * completed) / all), tasks: { all, completed } };
}

/**
 * How far each of these projects is, by id; asked of the service only where nobody set it by hand.
 *
 * @param turn raised when tasks were completed, added or deleted
 */
export function useProgress(projects: readonly Project[], turn = 0): ReadonlyMap<string, Progress> {
  const open = projects.filter((project) => setByHand(project) === undefined);
  const { data } = useLoaded(
    async (signal) =>
      new Map(await Promise.all(open.map(async (one) => [one.project_id, await ofTasks(one, signal)] as const))),
    [open.map(({ project_id }) => project_id), turn],
  );
  // While it is counted anew, what was counted before stays in view.
  const counted = useRef(data);
  counted.current = data ?? counted.current;
  return new Map(
    projects.flatMap((project) => {
      const progress = setByHand(project) ?? counted.current?.get(project.project_id);
      return progress === undefined ? [] : [[project.project_id, progress] as const];
    }),
  );
}
