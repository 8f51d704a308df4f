import type {
  IDataObject,
  IHookFunctions,
  ILoadOptionsFunctions,
  INodeListSearchItems,
  INodeListSearchResult,
  INodeProperties,
  ITriggerFunctions,
} from 'n8n-workflow';
import { callOrThrow } from './call';

/** Whose occurrences start a workflow, in the words of the API (X11). `project_id` is given with scope `project` only. */
export type Scope = { scope: string; project_id?: string };

/** Number of projects per page of the list from which the user chooses one. */
const PROJECTS_PAGE_SIZE = 100;

/**
 * Input fields for a scope, and for the project of the scope `project`.
 *
 * @param show further conditions under which the editor shows the fields
 */
export function scopePropertiesOf(
  defaultScope: string,
  show: NonNullable<INodeProperties['displayOptions']>['show'] = {},
): INodeProperties[] {
  return [
    {
      displayName: 'Whose',
      name: 'scope',
      type: 'options',
      default: defaultScope,
      displayOptions: { show },
      options: [
        { name: 'My Own', value: 'own', description: 'What the user of the key does' },
        { name: 'Of a Project', value: 'project', description: 'What anybody does in one project' },
        { name: 'Of the Whole Account', value: 'account', description: 'What anybody does; for admins and owners' },
      ],
    },
    {
      displayName: 'Project',
      name: 'projectId',
      type: 'resourceLocator',
      default: { mode: 'list', value: '' },
      required: true,
      displayOptions: { show: { ...show, scope: ['project'] } },
      modes: [
        {
          displayName: 'From List',
          name: 'list',
          type: 'list',
          typeOptions: { searchListMethod: 'searchProjects', searchable: true },
        },
        {
          displayName: 'By ID',
          name: 'id',
          type: 'string',
          placeholder: '7',
          validation: [{ type: 'regex', properties: { regex: '[1-9]\\d*', errorMessage: 'An ID is a number' } }],
        },
      ],
    },
  ];
}

/** Returns the values of the scope's input fields; scope `own` if the node does not have them. */
export function readScope(context: IHookFunctions | ITriggerFunctions): Scope {
  const scope = context.getNodeParameter('scope', 'own') as string;
  if (scope !== 'project') return { scope };
  const projectId = context.getNodeParameter('projectId', '', { extractValue: true });
  return { scope, project_id: String(projectId).trim() };
}

/**
 * Lists the projects whose names contain `filter`, any case. The service has no such filter, so pages without a match
 * are skipped.
 */
export async function searchProjects(
  this: ILoadOptionsFunctions,
  filter = '',
  paginationToken?: string,
): Promise<INodeListSearchResult> {
  let results: INodeListSearchItems[];
  let after = paginationToken;
  do {
    const qs = { limit: PROJECTS_PAGE_SIZE, ...(after === undefined ? {} : { after }) };
    const { body, next } = await callOrThrow(this, { method: 'GET', path: '/projects', qs });
    results = (body.data as IDataObject[])
      .map(({ project_id, project_name }) => ({ name: String(project_name), value: String(project_id) }))
      .filter(({ name }) => name.toLowerCase().includes(filter.toLowerCase()));
    after = next;
  } while (results.length === 0 && after !== undefined);
  return { results, ...(after === undefined ? {} : { paginationToken: after }) };
}
