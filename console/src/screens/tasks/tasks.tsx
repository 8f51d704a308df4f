import { Page } from '../../components/page.tsx';
import { toQueryString } from '../../records/record-list.tsx';
import { useProjects } from '../../records/records.ts';
import { readTaskFilters, TaskList } from '../../records/task-list.tsx';

export default function TasksScreen() {
  const projectsQuery = useProjects();
  const filters = readTaskFilters();
  const exampleProjectId = filters.project_id ?? projectsQuery.data?.[0]?.project_id ?? '1';
  return (
    <Page
      title="Tasks"
      intro="The work of your projects. Completing a task completes its subtasks, and tells the hooks that listen."
      calls={[
        {
          description: 'List these tasks',
          method: 'GET',
          path: `/tasks?${toQueryString(filters)}`,
          sdk: `tasks.list(${JSON.stringify(filters)})`,
        },
        {
          description: 'Add a task',
          method: 'POST',
          path: `/tasks/${exampleProjectId}`,
          body: { task_name: 'Proofread' },
          sdk: `tasks.create('${exampleProjectId}', { task_name: 'Proofread' })`,
        },
      ]}
    >
      <TaskList projects={projectsQuery.data} />
    </Page>
  );
}
