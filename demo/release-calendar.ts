import type { Carillon, HookKind } from '../packages/sdk/src/index.ts';

/** The release lines of Node.js with their dates (YYYY-MM-DD); some have a codename. */
export type ReleaseSchedule = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Runs a request and records its start time for the notifications that it causes. */
export type TimeRequest = <T>(
  work: () => Promise<T>,
  causes: (result: T) => readonly (readonly [kind: HookKind, path: string])[],
) => Promise<T>;

const PHASES: Readonly<Record<string, string>> = {
  alpha: 'First alpha',
  start: 'Release',
  lts: 'Long-term support begins',
  maintenance: 'Maintenance begins',
  end: 'End of life',
};

/**
 * Enters a schedule: a client, a project for each release line, an event for each of its dates, and for each phase a
 * task with two subtasks, completed if the date has passed. Returns the number of created records.
 */
export async function enterSchedule(
  carillon: Carillon,
  schedule: ReleaseSchedule,
  timed: TimeRequest,
  onLine: (done: number, all: number) => void,
): Promise<{ created: number; dates: number }> {
  const client = await timed(
    () => carillon.clients.create({ client_name: 'OpenJS Foundation', website: 'https://openjsf.org' }),
    ({ client_id }) => [['new_client', `clients/${client_id}`]],
  );
  const lines = Object.entries(schedule);
  let created = 1;
  let dates = 0;
  for (const [index, [name, days]] of lines.entries()) {
    const phases = Object.entries(days).filter(([phase]) => phase in PHASES);
    const records = await enterLine(carillon, client.client_id, name, days.codename ?? '', phases, timed);
    created += 1 + records;
    dates += phases.length;
    onLine(index + 1, lines.length);
  }
  return { created, dates };
}

async function enterLine(
  carillon: Carillon,
  clientId: string,
  name: string,
  codename: string,
  phases: readonly (readonly [phase: string, date: string])[],
  timed: TimeRequest,
): Promise<number> {
  const title = codename === '' ? `Node.js ${name}` : `Node.js ${name} ${codename}`;
  const days = phases.map(([, date]) => date).sort();
  const project = await timed(
    () =>
      carillon.projects.create({
        project_name: title,
        client_id: clientId,
        tags: 'nodejs,release',
        start_date: toCompactDate(days[0] ?? ''),
        due_date: toCompactDate(days.at(-1) ?? ''),
      }),
    ({ project_id }) => [['new_project', `projects/${project_id}`]],
  );
  let created = 0;
  for (const [phase, date] of phases) {
    const records = await enterPhase(carillon, project.project_id, `${title}: ${PHASES[phase]}`, date, timed);
    created += records;
  }
  return created;
}

async function enterPhase(
  carillon: Carillon,
  projectId: string,
  name: string,
  date: string,
  timed: TimeRequest,
): Promise<number> {
  const day = toCompactDate(date);
  await timed(
    () => carillon.events.create({ event_name: name, start_date: day, due_date: day, project_id: projectId }),
    ({ event_id }) => [['new_event', `events/${event_id}`]],
  );
  const task = await timed(
    () => carillon.tasks.create(projectId, { task_name: name, due_date: day }),
    ({ task_id }) => [['new_task', `tasks/${task_id}`]],
  );
  const subtasks: string[] = [];
  for (const subtask_name of [`Announce: ${name}`, `Update the website: ${name}`]) {
    const subtask = await timed(
      () => carillon.subtasks.create(task.task_id, { subtask_name, due_date: day }),
      ({ subtask_id }) => [['new_subtask', `subtasks/${subtask_id}`]],
    );
    subtasks.push(subtask.subtask_id);
  }
  if (date < new Date().toISOString().slice(0, 10)) {
    await timed(
      () => carillon.tasks.complete(task.task_id),
      () => [
        ['completed_task', `tasks/${task.task_id}`],
        ...subtasks.map((id) => ['completed_subtask', `subtasks/${id}`] as const),
      ],
    );
  }
  return 2 + subtasks.length;
}

function toCompactDate(date: string): string {
  return date.replaceAll('-', '');
}
