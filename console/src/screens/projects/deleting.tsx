import { useState } from 'preact/hooks';
import type { Project } from '../../../../src/sdk/projects.ts';
import { client } from '../../client.ts';
import { Ask } from '../../design/dialog.tsx';
import { tell } from '../../design/toast.tsx';
import { attempt } from '../../load.ts';

type Ends = {
  /** Shows that it is gone. */
  readonly onGone: (project: Project) => void;
  /** Shows that it is there again, under another id. */
  readonly onBack: (project: Project) => void;
};

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;
const theirs = (count: number, word: string) => (count === 1 ? `Its ${word}` : `Its ${counted(count, word)}`);

/** Deletes projects: at once and with a way back where nothing hangs on one, else after a question. */
export function useDeleteProject({ onGone, onBack }: Ends) {
  const [asked, setAsked] = useState<{ readonly project: Project; readonly tasks: number; readonly events: number }>();
  const remove = async (project: Project, said: { readonly undo?: () => void }) => {
    if (!(await attempt(() => client.projects.delete(project.project_id)))) return;
    onGone(project);
    tell(`“${project.project_name}” deleted.`, said);
  };
  const begin = (project: Project) =>
    attempt(async () => {
      const of = { project_id: project.project_id, limit: 1 };
      const [tasks, events] = await Promise.all([client.tasks.list(of), client.events.list(of)]);
      const found = { tasks: tasks.paging.total_records, events: events.paging.total_records };
      if (found.tasks + found.events > 0) setAsked({ project, ...found });
      else await remove(project, { undo: () => void attempt(async () => onBack(await createAgain(project))) });
    });
  const question = asked !== undefined && (
    <Ask
      title={`Delete “${asked.project.project_name}”?`}
      yes={asked.tasks === 0 ? 'Delete' : `Delete with ${counted(asked.tasks, 'task')}`}
      onYes={() => void remove(asked.project, {})}
      onClose={() => setAsked(undefined)}
    >
      {asked.tasks > 0 && <p>{theirs(asked.tasks, 'task')} and all subtasks go with it.</p>}
      {asked.events === 1 && <p>Its event on the calendar stays, without a project.</p>}
      {asked.events > 1 && <p>{theirs(asked.events, 'event')} on the calendar stay, without a project.</p>}
      <p>This cannot be taken back. Archived, it would be out of the way and nothing would be lost.</p>
    </Ask>
  );
  return { begin, question };
}

/** A deleted project, made anew with what it was. */
function createAgain({ users, ...fields }: Project): Promise<Project> {
  const { project_name, uri, description, color, tags, notes, start_date, due_date, ongoing, client_id } = fields;
  const { currency, hourly_rate, fixed_price, price, active, important, closed, archived, progress } = fields;
  return client.projects.create({
    ...{ project_name, uri, description, color, tags, notes, start_date, due_date, ongoing, client_id },
    ...{ currency, hourly_rate, fixed_price, price, active, important, closed, archived, progress },
    public: fields.public,
    users: users.map(({ user_id }) => user_id),
  });
}
