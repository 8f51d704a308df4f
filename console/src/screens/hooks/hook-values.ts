import { hookKinds } from '../../../../packages/sdk/src/api-types.ts';
import type { Hook, HookChange, HookInput, HookScope } from '../../../../packages/sdk/src/hooks.ts';
import type { EventTypes } from '../../delivery/delivery-text.ts';

export type HeaderRow = { readonly name: string; readonly value: string };

/** Values of the form. `headerRows` is undefined while the headers of an existing hook stay as they are. */
export type FormValues = {
  readonly targetInput: string;
  readonly eventTypes: EventTypes;
  readonly name: string;
  readonly scope: HookScope;
  readonly projectId: string;
  readonly headerRows: readonly HeaderRow[] | undefined;
  readonly isEnabled: boolean;
};

export const newHookValues: FormValues = {
  targetInput: '',
  eventTypes: ['new_event'],
  name: '',
  scope: 'own',
  projectId: '',
  headerRows: [],
  isEnabled: true,
};

/** Returns the values of the form for an existing hook. */
export const valuesOf = (hook: Hook): FormValues => ({
  targetInput: hook.target_url,
  eventTypes: hook.events,
  name: hook.name,
  scope: hook.scope,
  projectId: hook.project_id === '0' ? '' : hook.project_id,
  headerRows: undefined,
  isEnabled: hook.enabled === '1',
});

const trimRow = ({ name, value }: HeaderRow): HeaderRow => ({ name: name.trim(), value: value.trim() });
const filledRows = (headerRows: readonly HeaderRow[]) =>
  headerRows.map(trimRow).filter(({ name, value }) => name !== '' || value !== '');

const toHeaders = (headerRows: readonly HeaderRow[]) =>
  Object.fromEntries(filledRows(headerRows).map(({ name, value }) => [name, value]));

/** Returns the event types as input: the field `event` for one of its seven kinds, otherwise `events`. */
function toEventInput(eventTypes: EventTypes): Pick<HookInput, 'event' | 'events'> {
  const event = eventTypes.length === 1 ? hookKinds.find((kind) => kind === eventTypes[0]) : undefined;
  if (event !== undefined) return { event };
  return { events: eventTypes.includes('*') ? ['*'] : eventTypes.filter((eventType) => eventType !== '*') };
}

/** Returns the fields that differ from their defaults. */
export function toHookInput({
  targetInput,
  eventTypes,
  name,
  scope,
  projectId,
  headerRows = [],
  isEnabled,
}: FormValues) {
  return {
    ...toEventInput(eventTypes),
    target_url: targetInput.trim(),
    ...(name.trim() !== '' && { name: name.trim() }),
    ...(scope !== 'own' && { scope }),
    ...(scope === 'project' && { project_id: projectId }),
    ...(filledRows(headerRows).length > 0 && { headers: toHeaders(headerRows) }),
    ...(!isEnabled && { enabled: 0 as const }),
  };
}

/** Returns the fields that differ from those of the hook. */
export function toHookChange(hook: Hook, values: FormValues): HookChange {
  const { targetInput, eventTypes, name, scope, projectId, headerRows } = values;
  const before = valuesOf(hook);
  const hasNewScope = scope !== before.scope || (scope === 'project' && projectId !== before.projectId);
  return {
    ...(targetInput.trim() !== hook.target_url && { target_url: targetInput.trim() }),
    ...(eventTypes.join() !== hook.events.join() && toEventInput(eventTypes)),
    ...(name.trim() !== hook.name && { name: name.trim() }),
    ...(hasNewScope && { scope, project_id: scope === 'project' ? projectId : '0' }),
    ...(headerRows !== undefined && { headers: toHeaders(headerRows) }),
  };
}

/** Finds errors that the service would not report at a field, or not in plain words. */
export function findInputErrors({ eventTypes, scope, projectId, headerRows = [] }: FormValues): Errors {
  const headers = filledRows(headerRows);
  const incompleteHeader = headers.find(({ name, value }) => name === '' || value === '');
  const names = headers.map(({ name }) => name.toLowerCase());
  const duplicateName = names.find((name, index) => names.indexOf(name) !== index);
  return {
    ...(eventTypes.length === 0 && { events: 'Select at least one event type.' }),
    ...(scope === 'project' && projectId === '' && { project_id: 'Choose a project.' }),
    ...(incompleteHeader && { headers: `Enter a name and a value: ${incompleteHeader.name || 'one has no name'}.` }),
    ...(duplicateName !== undefined && { headers: `Remove one of the headers ${duplicateName}.` }),
  };
}

/** Errors by the name of the field; the error of no field has the name `''`. */
export type Errors = Readonly<Record<string, string>>;

/** Hides the values of headers in the displayed API calls. */
export const hideHeaderValues = <T extends HookChange>(input: T) => ({
  ...input,
  ...(input.headers && { headers: Object.fromEntries(Object.keys(input.headers).map((name) => [name, '…'])) }),
});
