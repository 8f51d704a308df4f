import type { IDataObject, IHookFunctions } from 'n8n-workflow';
import { ask, call, messageOf, refusal } from '../parts/call';

/** What a workflow wants to be told of, and where. */
export type Wanted = { target: string; kind: string };

/** What is kept with the workflow. */
type Kept = IDataObject & { hookId?: string };

const keptOf = (context: IHookFunctions): Kept => context.getWorkflowStaticData('node');

/** Whether the hook of this workflow lives and is the one that is wanted now. */
export async function isSubscribed(context: IHookFunctions, wanted: Wanted): Promise<boolean> {
  const hook = await keptHook(context);
  return hook !== undefined && hook.state !== 'ended' && isWanted(hook, wanted);
}

/**
 * Makes the hook of this workflow live. One that has ended is restored, so that it is told what it missed (X1); one for
 * another kind or path of this n8n makes room. What rings another n8n stays: the workflow may be a copy of one there.
 */
export async function subscribe(context: IHookFunctions, wanted: Wanted): Promise<void> {
  const hook = await keptHook(context);
  if (hook !== undefined) {
    if (isWanted(hook, wanted) && (await lives(context, hook))) return;
    if (hook.state !== 'ended' && originOf(hook.target_url) === originOf(wanted.target)) await remove(context, hook.id);
  }
  keptOf(context).hookId = await create(context, wanted);
}

/**
 * Ends the hook of this workflow; one that is gone already is as good. It is forgotten even where the service cannot be
 * reached: n8n keeps that only if nothing is thrown, and a workflow turned on months later is not told of the months.
 */
export async function unsubscribe(context: IHookFunctions): Promise<boolean> {
  const kept = keptOf(context);
  const { hookId } = kept;
  delete kept.hookId;
  try {
    if (hookId !== undefined) await remove(context, hookId);
    return true;
  } catch (error) {
    context.logger.warn(
      `Carillon hook ${hookId} is not removed, and ends when nothing answers it: ${messageOf(error)}`,
    );
    return false;
  }
}

async function keptHook(context: IHookFunctions): Promise<IDataObject | undefined> {
  const { hookId } = keptOf(context);
  if (hookId === undefined) return undefined;
  const answer = await call(context, { method: 'GET', path: `/hooks/${hookId}` });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw refusal(context, answer);
  return answer.body.data as IDataObject;
}

function isWanted(hook: IDataObject, { target, kind }: Wanted): boolean {
  return hook.event === kind && hook.target_url === target;
}

function originOf(address: unknown): string {
  return new URL(String(address)).origin;
}

/** Whether a hook lives, restored if need be; false where its target was taken or it was given up meanwhile. */
async function lives(context: IHookFunctions, hook: IDataObject): Promise<boolean> {
  if (hook.state !== 'ended') return true;
  const answer = await call(context, { method: 'POST', path: `/hooks/${hook.id}/restore` });
  if (answer.status === 200) return true;
  if (answer.status === 404 || answer.status === 409) return false;
  throw refusal(context, answer);
}

async function create(context: IHookFunctions, wanted: Wanted): Promise<string> {
  const subscribing = {
    method: 'POST',
    path: '/hooks',
    body: { target_url: wanted.target, event: wanted.kind },
  } as const;
  const answer = await call(context, subscribing);
  if (answer.status === 201) return String(answer.body.id);
  // C12: the address is taken. By a hook of ours whose id was lost, or by somebody else's, which is not ours to move.
  const other = answer.status === 409 ? await ownHookAt(context, wanted.target) : undefined;
  if (other === undefined) throw refusal(context, answer);
  if (isWanted(other, wanted)) return String(other.id);
  await remove(context, other.id);
  return String((await ask(context, subscribing)).id);
}

async function ownHookAt(context: IHookFunctions, target: string): Promise<IDataObject | undefined> {
  for (const state of ['live', 'failing']) {
    const { data } = await ask(context, { method: 'GET', path: '/hooks', qs: { state } });
    const found = (data as IDataObject[]).find((hook) => hook.target_url === target);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function remove(context: IHookFunctions, hookId: unknown): Promise<void> {
  const answer = await call(context, { method: 'DELETE', path: `/hooks/${hookId}` });
  if (answer.status !== 200 && answer.status !== 404) throw refusal(context, answer);
}
