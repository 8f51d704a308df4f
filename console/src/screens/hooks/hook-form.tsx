import { useEffect, useState } from 'preact/hooks';
import { hookKinds } from '../../../../packages/sdk/src/api-types.ts';
import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import type { Hook, HookChange, HookInput, HookScope, TargetCheckResult } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate } from '../../app/router.ts';
import { isAdmin, requireSession } from '../../app/session.ts';
import { describeError, toFieldErrors, useQuery } from '../../app/use-query.ts';
import { apiAccount } from '../../components/api-call.tsx';
import { Badge, LoadingSkeleton, Note, type Tone } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Checkbox, RadioGroup, Select, TextField } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { showToast } from '../../components/toast.tsx';
import {
  buildWebhookBody,
  type EventTypes,
  eventTypeGroups,
  generateSecretPath,
  hookTitleOf,
  hostOf,
  scopeTexts,
} from '../../delivery/delivery-text.ts';
import { EventTypePicker } from '../../delivery/event-type-picker.tsx';
import { useProjects } from '../../records/records.ts';

/** Origin of the example URLs that are shown until the user enters a target. */
const EXAMPLE_ORIGIN = 'https://your-application.example';

/** Debounce delay of the target check: the check runs when the user has stopped typing. */
const TARGET_CHECK_DEBOUNCE_MS = 350;

/** Maximum number of headers of a hook. */
const MAX_HEADERS = 5;

/**
 * Checks a target URL with the SSRF guard of the service. Returns undefined when the request fails: the error is
 * reported when the hook is saved.
 */
const checkTargetUrl = (targetUrl: string, signal?: AbortSignal) =>
  client.checkTarget(targetUrl, { signal }).catch(() => undefined);

const describeTargetCheck = ({ message }: TargetCheckResult) => `It ${message}.`;

/** Returns the result of the target check for the entered URL; the check is debounced. Empty URLs are not checked. */
function useTargetCheck(targetUrl: string): TargetCheckResult | undefined {
  const [checkResult, setCheckResult] = useState<TargetCheckResult>();
  useEffect(() => {
    setCheckResult(undefined);
    if (targetUrl === '') return;
    const abortController = new AbortController();
    const runTargetCheck = () =>
      void checkTargetUrl(targetUrl, abortController.signal).then((result) => {
        if (!abortController.signal.aborted) setCheckResult(result);
      });
    const timer = setTimeout(runTargetCheck, TARGET_CHECK_DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      abortController.abort();
    };
  }, [targetUrl]);
  return checkResult;
}

const targetCheckBadges: Readonly<Record<TargetCheckResult['verdict'], readonly [tone: Tone, word: string]>> = {
  allowed: ['good', 'good'],
  unresolved: ['warn', 'not found yet'],
  forbidden: ['bad', 'forbidden'],
  malformed: ['plain', 'no address yet'],
  taken: ['bad', 'taken'],
};

type HeaderRow = { readonly name: string; readonly value: string };

/** Values of the form. `headerRows` is undefined while the headers of an existing hook stay as they are. */
type FormValues = {
  readonly targetInput: string;
  readonly eventTypes: EventTypes;
  readonly name: string;
  readonly scope: HookScope;
  readonly projectId: string;
  readonly headerRows: readonly HeaderRow[] | undefined;
  readonly isEnabled: boolean;
};

const newHookValues: FormValues = {
  targetInput: '',
  eventTypes: ['new_event'],
  name: '',
  scope: 'own',
  projectId: '',
  headerRows: [],
  isEnabled: true,
};

const valuesOf = (hook: Hook): FormValues => ({
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
function toHookInput({ targetInput, eventTypes, name, scope, projectId, headerRows = [], isEnabled }: FormValues) {
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
function toHookChange(hook: Hook, values: FormValues): HookChange {
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
function findInputErrors({ eventTypes, scope, projectId, headerRows = [] }: FormValues): Errors {
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

type Errors = Readonly<Record<string, string>>;

/** Hides the values of headers in the displayed API calls. */
const hideHeaderValues = <T extends HookChange>(input: T) => ({
  ...input,
  ...(input.headers && { headers: Object.fromEntries(Object.keys(input.headers).map((name) => [name, '…'])) }),
});

/** Returns the errors of a failed request by field. */
async function explainFieldErrors(error: unknown, targetUrl: string): Promise<Errors> {
  if (error instanceof CarillonError && error.code === 'target_taken') return { target_url: describeError(error) };
  const errorsByField = toFieldErrors(error);
  if (errorsByField.target_url === undefined) return errorsByField;
  // The validation error contains only a code; the target check returns a sentence that explains it.
  const checkResult = await checkTargetUrl(targetUrl);
  return checkResult ? { ...errorsByField, target_url: describeTargetCheck(checkResult) } : errorsByField;
}

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

type HookFormProps = {
  /** The hook that is changed; undefined for a new one. */
  readonly hook?: Hook;
  readonly values: FormValues;
  readonly onChange: (values: FormValues) => void;
  readonly onSubmit: () => Promise<void>;
  readonly submitLabel: string;
};

function HookForm({ hook, values, onChange, onSubmit, submitLabel }: HookFormProps) {
  const [errors, setErrors] = useState<Errors>({});
  const [isBusy, setBusy] = useState(false);
  const [areOptionsOpen, setOptionsOpen] = useState(hook !== undefined);
  const targetUrl = values.targetInput.trim();
  const change = (changes: Partial<FormValues>) => {
    setErrors({});
    onChange({ ...values, ...changes });
  };
  const showErrors = (newErrors: Errors) => {
    setErrors(newErrors);
    setBusy(false);
    if (newErrors.headers !== undefined || newErrors.enabled !== undefined) setOptionsOpen(true);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const inputErrors = findInputErrors(values);
    if (Object.keys(inputErrors).length > 0) return showErrors(inputErrors);
    setBusy(true);
    try {
      await onSubmit();
    } catch (error) {
      const fieldErrors = await explainFieldErrors(error, targetUrl);
      showErrors(Object.keys(fieldErrors).length > 0 ? fieldErrors : { '': describeError(error) });
    }
  };
  const suggestTargetUrl = () => {
    const enteredOrigin =
      URL.canParse(targetUrl) && new URL(targetUrl).origin !== 'null' ? new URL(targetUrl).origin : undefined;
    change({ targetInput: (enteredOrigin ?? EXAMPLE_ORIGIN) + generateSecretPath() });
  };
  return (
    <div class="new-hook">
      <form class="stack" onSubmit={submit}>
        <EventTypePicker
          label="Event types"
          allLabel="All, also later ones"
          eventTypes={values.eventTypes}
          errorText={errors.events ?? errors.event}
          onChange={(eventTypes) => change({ eventTypes })}
        />
        <TargetField
          hook={hook}
          value={values.targetInput}
          errorText={errors.target_url}
          onInput={(targetInput) => change({ targetInput })}
        />
        <div>
          <Button icon="key" onClick={suggestTargetUrl}>
            Suggest a secret path
          </Button>
        </div>
        <ScopeFields hook={hook} values={values} errors={errors} onChange={change} />
        <TextField
          label="Name (optional)"
          name="name"
          maxLength={255}
          autoComplete="off"
          value={values.name}
          errorText={errors.name}
          onInput={(name) => change({ name })}
        />
        <details open={areOptionsOpen} onToggle={(event) => setOptionsOpen(event.currentTarget.open)}>
          <summary>Headers{hook === undefined && ' and state'}</summary>
          <div class="stack">
            <HeaderFields hook={hook} values={values} errorText={errors.headers} onChange={change} />
            {hook === undefined && (
              <Checkbox
                label="Enabled. If it is not, notifications stay pending."
                checked={values.isEnabled}
                onChange={(isEnabled) => change({ isEnabled })}
              />
            )}
            {errors.enabled !== undefined && <Note tone="bad">{errors.enabled}</Note>}
          </div>
        </details>
        {errors[''] !== undefined && <Note tone="bad">{errors['']}</Note>}
        <div class="row">
          <Button variant="primary" type="submit" disabled={isBusy}>
            {isBusy ? 'Saving…' : submitLabel}
          </Button>
          <ButtonLink variant="quiet" href={hook === undefined ? hrefTo('hooks') : hrefTo('hooks', hook.id)}>
            Cancel
          </ButtonLink>
        </div>
      </form>
      <RequestPreview eventTypes={values.eventTypes} targetUrl={targetUrl} />
    </div>
  );
}

type TargetFieldProps = {
  readonly hook: Hook | undefined;
  readonly value: string;
  readonly errorText: string | undefined;
  readonly onInput: (value: string) => void;
};

/** Input for the target, which is checked while the user types. */
function TargetField({ hook, value, errorText, onInput }: TargetFieldProps) {
  const targetUrl = value.trim();
  const checkResult = useTargetCheck(targetUrl === hook?.target_url ? '' : targetUrl);
  return (
    <TextField
      label="URL"
      name="target_url"
      required
      maxLength={2_048}
      autoComplete="off"
      placeholder={`${EXAMPLE_ORIGIN}/carillon/…`}
      value={value}
      onInput={onInput}
      errorText={errorText}
      hint={
        checkResult === undefined ? (
          'Anyone who knows the URL can call it, so its path should be hard to guess.'
        ) : (
          <span class="verdict" role="status">
            <Badge tone={targetCheckBadges[checkResult.verdict][0]}>{targetCheckBadges[checkResult.verdict][1]}</Badge>{' '}
            {describeTargetCheck(checkResult)}
            {hook !== undefined && ' Pending notifications go to the new URL, and failures are reset.'}
          </span>
        )
      }
    />
  );
}

type PartProps = {
  readonly hook: Hook | undefined;
  readonly values: FormValues;
  readonly onChange: (changes: Partial<FormValues>) => void;
};

const scopeHints: Readonly<Record<HookScope, string>> = {
  own: 'Only events that the owner of the webhook causes.',
  project: 'Events of a project and the records in it, whoever causes them.',
  account: 'All events of the account, whoever causes them.',
};

/** Controls for the scope, and for the project if the scope is one project. */
function ScopeFields({ hook, values, errors, onChange }: PartProps & { readonly errors: Errors }) {
  const { scope, projectId } = values;
  const isOwn = hook === undefined || hook.user_id === requireSession().user.user_id;
  const scopes: readonly HookScope[] = isAdmin() ? ['own', 'project', 'account'] : ['own', 'project'];
  return (
    <>
      <div class="field">
        <span class="label" aria-hidden="true">
          Scope
        </span>
        <RadioGroup
          label="Scope"
          value={scope}
          options={scopes.map((value) => ({
            value,
            text: value === 'own' && isOwn ? 'What I do' : scopeTexts[value],
          }))}
          onChange={(newScope) => onChange({ scope: newScope })}
        />
        {errors.scope === undefined ? (
          <span class="hint">{scopeHints[scope]}</span>
        ) : (
          <span class="fault" role="alert">
            {errors.scope}
          </span>
        )}
      </div>
      {scope === 'project' && (
        <ProjectSelect
          projectId={projectId}
          errorText={errors.project_id}
          onChange={(newId) => onChange({ projectId: newId })}
        />
      )}
    </>
  );
}

type ProjectSelectProps = {
  readonly projectId: string;
  readonly errorText: string | undefined;
  readonly onChange: (projectId: string) => void;
};

function ProjectSelect({ projectId, errorText, onChange }: ProjectSelectProps) {
  const { data: projects = [] } = useProjects();
  const isUnlisted = projectId !== '' && !projects.some(({ project_id }) => project_id === projectId);
  return (
    <Select
      label="Project"
      value={projectId}
      errorText={errorText}
      options={[
        { value: '', text: 'Choose a project' },
        ...(isUnlisted ? [{ value: projectId, text: `Project ${projectId}` }] : []),
        ...projects.map(({ project_id, project_name }) => ({ value: project_id, text: project_name })),
      ]}
      onChange={onChange}
    />
  );
}

/** Editor for the headers of a hook. The values of stored headers are unknown, so all headers are replaced together. */
function HeaderFields({ hook, values, errorText, onChange }: PartProps & { readonly errorText: string | undefined }) {
  const { headerRows } = values;
  if (headerRows === undefined) {
    const names = hook?.headers ?? [];
    const startRows = names.length === 0 ? [emptyRow] : names.map((name) => ({ name, value: '' }));
    return (
      <div class="row">
        <span>{names.length === 0 ? 'No headers' : names.join(', ')}</span>
        <Button onClick={() => onChange({ headerRows: startRows })}>
          {names.length === 0 ? 'Add header' : 'Replace headers'}
        </Button>
      </div>
    );
  }
  const replaceRow = (index: number, changes: Partial<HeaderRow>) =>
    onChange({ headerRows: headerRows.map((row, other) => (other === index ? { ...row, ...changes } : row)) });
  return (
    <fieldset class="hook-headers">
      <legend>Custom headers</legend>
      {headerRows.map((row, index) => (
        <div key={index} class="hook-header">
          <TextField
            label={`Name of header ${index + 1}`}
            isLabelHidden
            placeholder="Name"
            maxLength={64}
            autoComplete="off"
            value={row.name}
            onInput={(name) => replaceRow(index, { name })}
          />
          <TextField
            label={`Value of header ${index + 1}`}
            isLabelHidden
            placeholder="Value"
            type="password"
            maxLength={4_096}
            autoComplete="new-password"
            value={row.value}
            onInput={(value) => replaceRow(index, { value })}
          />
          <Button
            variant="quiet"
            icon="cross"
            label={`Remove header ${index + 1}`}
            onClick={() => onChange({ headerRows: headerRows.filter((_, other) => other !== index) })}
          />
        </div>
      ))}
      <div class="row">
        {headerRows.length < MAX_HEADERS && (
          <Button icon="plus" onClick={() => onChange({ headerRows: [...headerRows, emptyRow] })}>
            Add header
          </Button>
        )}
        <span class="small soft">
          For the gateway of the receiver, at most {MAX_HEADERS}. Values are never shown again.
        </span>
      </div>
      {errorText !== undefined && (
        <span class="fault" role="alert">
          {errorText}
        </span>
      )}
    </fieldset>
  );
}

const emptyRow: HeaderRow = { name: '', value: '' };

/** Preview of the webhook request, with instructions for the receiver. */
function RequestPreview({ eventTypes, targetUrl }: { readonly eventTypes: EventTypes; readonly targetUrl: string }) {
  const eventType = eventTypes.find((one) => one !== '*') ?? 'new_event';
  const group = eventTypeGroups.find((one) => one.eventTypes.includes(eventType));
  const path = URL.canParse(targetUrl) ? new URL(targetUrl).pathname : '/carillon/…';
  return (
    <aside class="card padded stack" aria-label="What is sent">
      <h2>What is sent</h2>
      <pre class="code">
        {[
          `POST ${path}`,
          `host: ${targetUrl === '' ? 'your-application.example' : hostOf(targetUrl)}`,
          'content-type: application/json',
          'webhook-id: 4711',
          `webhook-event: ${eventType}`,
          'webhook-cursor: 1808',
          ...(eventType.startsWith('changed_') ? ['webhook-fields: (names of the changed fields)'] : []),
          '',
          buildWebhookBody(`${apiAccount.baseUrl}/v2${group?.examplePath}`),
        ].join('\n')}
      </pre>
      <ol class="hook-steps small">
        <li>
          Respond <strong>200</strong> immediately; anything else is a failure.
        </li>
        <li>
          Then read the <code>resource_url</code> with your own API key. A notification contains no data, so a forged
          one reveals nothing.
        </li>
        <li>
          <strong>401</strong> ends the webhook. After any other response the notification is retried twice, by default
          after a minute and after two hours. The third failure in a row ends the webhook; <em>Restore</em> sends what
          it missed.
        </li>
        <li>
          The same <code>webhook-id</code> may arrive twice: ignore the ones that you have processed.
        </li>
      </ol>
    </aside>
  );
}
