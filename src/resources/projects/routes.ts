import { create, list, one, type Route, remove, update } from '../../http/route.ts';
import { changeProject, createProject, deleteProject, getProject, listProjects } from './actions.ts';
import { projectFields, projectFilters, projectOrder } from './schema.ts';

export const projectRoutes: readonly Route[] = [
  list({
    path: '/projects',
    says: 'Projects.',
    permission: 'projects:read',
    parameters: { ...projectFilters, ...projectOrder },
    fields: projectFields,
    call: (view, _caller, given, paging) => listProjects(view, given, paging),
  }),
  create({
    path: '/projects',
    says: 'Adds a project.',
    permission: 'projects:write',
    fields: projectFields,
    records: ['new_project'],
    at: { collection: '/projects', key: 'project_id' },
    call: createProject,
  }),
  one({
    path: '/projects/{project_id}',
    says: 'One project.',
    permission: 'projects:read',
    fields: projectFields,
    call: (view, _caller, ids) => getProject(view, ids.project_id),
  }),
  update({
    path: '/projects/{project_id}',
    says: 'Changes what is given of a project.',
    permission: 'projects:write',
    fields: projectFields,
    records: ['changed_project'],
    call: (write, caller, input, ids) => changeProject(write, caller, ids.project_id, input),
  }),
  remove({
    path: '/projects/{project_id}',
    says: 'Deletes a project with its tasks and their subtasks; its events stay, with project "0".',
    permission: 'projects:write',
    records: ['deleted_subtask', 'deleted_task', 'changed_event', 'deleted_project'],
    call: (write, caller, ids) => deleteProject(write, caller, ids.project_id),
  }),
];
