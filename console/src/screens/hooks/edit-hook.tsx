import { useState } from 'preact/hooks';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate } from '../../app/router.ts';
import { useQuery } from '../../app/use-query.ts';
import { LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Page } from '../../components/page.tsx';
import { showToast } from '../../components/toast.tsx';
import { hookTitleOf } from '../../delivery/delivery-text.ts';
import { HookForm } from './hook-form.tsx';
import { hideHeaderValues, newHookValues, toHookChange, toHookInput, valuesOf } from './hook-values.ts';
import { EXAMPLE_ORIGIN } from './target-field.tsx';

/** Page with the form that creates a hook. */
export function NewHook() {
  const [values, setValues] = useState(newHookValues);
  const targetUrl = values.targetInput.trim() || `${EXAMPLE_ORIGIN}/carillon`;
  const body = hideHeaderValues({ ...toHookInput(values), target_url: targetUrl });
  const create = async () => {
    const { id } = await client.hooks.create(toHookInput(values));
    showToast(
      values.isEnabled
        ? 'Webhook created. Send a test to check that the receiver answers.'
        : 'Webhook created, disabled.',
    );
    navigate(hrefTo('hooks', id));
  };
  return (
    <Page
      title="New webhook"
      intro="Choose the events to receive, and where to send them."
      calls={[
        {
          description: 'Create this webhook',
          method: 'POST',
          path: '/hooks',
          body,
          sdk: `hooks.create(${JSON.stringify(body)})`,
        },
      ]}
    >
      <HookForm values={values} onChange={setValues} onSubmit={create} submitLabel="Create webhook" />
    </Page>
  );
}

/** Page with the form that changes a hook. */
export function EditHook({ id }: { readonly id: string }) {
  const { data: hook, errorText } = useQuery((signal) => client.hooks.get(id, { signal }), [id]);
  if (hook !== undefined && hook.state !== 'ended') return <EditHookForm hook={hook} />;
  return (
    <Page title={`Webhook ${id}`} calls={[]}>
      {errorText !== undefined && <Note tone="bad">{errorText}</Note>}
      {hook === undefined && errorText === undefined && <LoadingSkeleton />}
      {hook !== undefined && (
        <Note>
          <p>It has ended, and cannot be changed.</p>
          <a href={hrefTo('hooks', id)}>Back to the webhook</a>
        </Note>
      )}
    </Page>
  );
}

function EditHookForm({ hook }: { readonly hook: Hook }) {
  const [values, setValues] = useState(() => valuesOf(hook));
  const change = toHookChange(hook, values);
  const body = hideHeaderValues(change);
  const save = async () => {
    if (Object.keys(change).length > 0) await client.hooks.update(hook.id, change);
    showToast('Saved.');
    navigate(hrefTo('hooks', hook.id));
  };
  return (
    <Page
      title={`Edit ${hookTitleOf(hook)}`}
      intro={<a href={hrefTo('hooks', hook.id)}>Back to the webhook</a>}
      calls={[
        {
          description: 'Save these changes',
          method: 'PUT',
          path: `/hooks/${hook.id}`,
          body,
          sdk: `hooks.update('${hook.id}', ${JSON.stringify(body)})`,
        },
      ]}
    >
      <HookForm hook={hook} values={values} onChange={setValues} onSubmit={save} submitLabel="Save" />
    </Page>
  );
}
