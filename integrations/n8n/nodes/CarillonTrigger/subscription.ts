import type { IDataObject, IHookFunctions } from 'n8n-workflow';
import { callOrThrow, callService, messageOf, type ServiceResponse, toApiError } from '../parts/call';
import type { Scope } from '../parts/scope';

/** The hook that a workflow needs: its target URL, its event kinds or `*` for all, and whose occurrences it reports. */
export type WantedHook = Scope & { target_url: string; events: string[] };

/** The workflow's static data, which n8n stores with the workflow. */
type StaticData = IDataObject & { hookId?: string };

const getStaticData = (context: IHookFunctions): StaticData => context.getWorkflowStaticData('node');

/** Whether the workflow's hook is live and has the wanted target, kinds and scope. */
export async function isSubscribed(context: IHookFunctions, wanted: WantedHook): Promise<boolean> {
  const hook = await fetchStoredHook(context);
  return hook !== undefined && hook.state !== 'ended' && matchesWantedHook(hook, wanted);
}

/**
 * Ensures that the workflow has a live hook. An ended hook is restored, so that it gets the missed deliveries (X1). A
 * live hook for other kinds or another scope is changed, so that its pending deliveries are kept. A hook for another
 * path of this n8n is replaced. A hook whose target is another n8n is kept, because this workflow may be a copy of a
 * workflow there.
 */
export async function subscribe(context: IHookFunctions, wanted: WantedHook): Promise<void> {
  const hook = await fetchStoredHook(context);
  if (hook !== undefined) {
    if (matchesWantedHook(hook, wanted) && (await ensureLive(context, hook))) return;
    if (hook.state !== 'ended' && (await changeHook(context, hook, wanted))) return;
    if (hook.state !== 'ended' && originOf(hook.target_url) === originOf(wanted.target_url))
      await deleteHook(context, hook.id);
  }
  getStaticData(context).hookId = await createHook(context, wanted);
}

/**
 * Deletes the workflow's hook, if it still exists. The stored hook id is dropped even if the service cannot be reached:
 * a workflow activated months later must not get the deliveries of those months. No error is thrown, because n8n would
 * then not save the static data.
 */
export async function unsubscribe(context: IHookFunctions): Promise<boolean> {
  const staticData = getStaticData(context);
  const { hookId } = staticData;
  delete staticData.hookId;
  try {
    if (hookId !== undefined) await deleteHook(context, hookId);
    return true;
  } catch (error) {
    context.logger.warn(
      `Carillon hook ${hookId} was not deleted; it ends after three failed notifications: ${messageOf(error)}`,
    );
    return false;
  }
}

async function fetchStoredHook(context: IHookFunctions): Promise<IDataObject | undefined> {
  const { hookId } = getStaticData(context);
  return hookId === undefined ? undefined : fetchHook(context, hookId);
}

async function fetchHook(context: IHookFunctions, hookId: unknown): Promise<IDataObject | undefined> {
  const answer = await callService(context, { method: 'GET', path: `/hooks/${hookId}` });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw toApiError(context, answer);
  return answer.body.data as IDataObject;
}

function matchesWantedHook(hook: IDataObject, wanted: WantedHook): boolean {
  const { target_url, events, scope, project_id = '0' } = wanted;
  const hasWantedKinds = [...eventsOf(hook)].sort().join() === [...events].sort().join();
  // Earlier versions of the service have no scopes.
  const { scope: hookScope = 'own', project_id: hookProjectId = '0' } = hook;
  return hasWantedKinds && hook.target_url === target_url && hookScope === scope && hookProjectId === project_id;
}

/** The kinds that a hook reports. Earlier versions of the service have no `events`. */
function eventsOf({ events, event }: IDataObject): string[] {
  return (events ?? [event]) as string[];
}

function originOf(address: unknown): string {
  return new URL(String(address)).origin;
}

/** Restores a hook if it has ended. Returns false if its target is taken or the hook no longer exists. */
async function ensureLive(context: IHookFunctions, hook: IDataObject): Promise<boolean> {
  if (hook.state !== 'ended') return true;
  const answer = await callService(context, { method: 'POST', path: `/hooks/${hook.id}/restore` });
  if (answer.status === 200) return true;
  if (answer.status === 404 || answer.status === 409) return false;
  throw toApiError(context, answer);
}

/** Changes the kinds and the scope of a live hook. Returns false if that is impossible, so that it must be replaced. */
async function changeHook(context: IHookFunctions, hook: IDataObject, wanted: WantedHook): Promise<boolean> {
  const { target_url, ...subscription } = wanted;
  // Earlier versions of the service have no scopes, and no way to change a hook.
  if (hook.target_url !== target_url || hook.scope === undefined) return false;
  const answer = await callService(context, { method: 'PUT', path: `/hooks/${hook.id}`, body: subscription });
  if (answer.status === 200) return true;
  // 404 means that the hook or the wanted project is gone; 409, that the hook has ended meanwhile.
  const currentHook = [404, 409].includes(answer.status) ? await fetchHook(context, hook.id) : hook;
  if (currentHook === undefined || currentHook.state === 'ended') return false;
  throw toApiError(context, answer);
}

async function createHook(context: IHookFunctions, wanted: WantedHook): Promise<string> {
  const answer = await postHook(context, wanted);
  if (answer.status === 201) return String(answer.body.id);
  // 409: another hook has this target (C12). A hook of this user is reused, because its id was lost; a hook of another
  // user is an error.
  const existingHook = answer.status === 409 ? await findOwnHookAt(context, wanted.target_url) : undefined;
  if (existingHook === undefined) throw toApiError(context, answer);
  if (matchesWantedHook(existingHook, wanted) || (await changeHook(context, existingHook, wanted)))
    return String(existingHook.id);
  await deleteHook(context, existingHook.id);
  const secondAnswer = await postHook(context, wanted);
  if (secondAnswer.status !== 201) throw toApiError(context, secondAnswer);
  return String(secondAnswer.body.id);
}

/** Earlier versions of the service require `event`: their hooks have one kind and report what their user does. */
async function postHook(context: IHookFunctions, wanted: WantedHook): Promise<ServiceResponse> {
  const { target_url, events, scope } = wanted;
  const answer = await callService(context, { method: 'POST', path: '/hooks', body: wanted });
  const faults = (answer.body?.errors ?? []) as IDataObject[];
  if (answer.status !== 400 || scope !== 'own' || events.length !== 1 || !faults.some(({ field }) => field === 'event'))
    return answer;
  return callService(context, { method: 'POST', path: '/hooks', body: { target_url, event: events[0] } });
}

async function findOwnHookAt(context: IHookFunctions, target: string): Promise<IDataObject | undefined> {
  for (const state of ['live', 'failing']) {
    for (let after: string | undefined; ; ) {
      const qs = { state, ...(after === undefined ? {} : { after }) };
      const { body, next } = await callOrThrow(context, { method: 'GET', path: '/hooks', qs });
      const found = (body.data as IDataObject[]).find((hook) => hook.target_url === target);
      if (found !== undefined) return found;
      if (next === undefined) break;
      after = next;
    }
  }
  return undefined;
}

async function deleteHook(context: IHookFunctions, hookId: unknown): Promise<void> {
  const answer = await callService(context, { method: 'DELETE', path: `/hooks/${hookId}` });
  if (answer.status !== 200 && answer.status !== 404) throw toApiError(context, answer);
}
