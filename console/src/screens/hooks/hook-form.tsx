import { useState } from 'preact/hooks';
import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { hrefTo } from '../../app/router.ts';
import { describeError, toFieldErrors } from '../../app/use-query.ts';
import { Note } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Checkbox, TextField } from '../../components/field.tsx';
import { generateSecretPath } from '../../delivery/delivery-text.ts';
import { EventTypePicker } from '../../delivery/event-type-picker.tsx';
import { HeaderFields } from './header-fields.tsx';
import { type Errors, type FormValues, findInputErrors } from './hook-values.ts';
import { RequestPreview } from './request-preview.tsx';
import { ScopeFields } from './scope-fields.tsx';
import { checkTargetUrl, describeTargetCheck, EXAMPLE_ORIGIN, TargetField } from './target-field.tsx';

/** Returns the errors of a failed request by field. */
async function explainFieldErrors(error: unknown, targetUrl: string): Promise<Errors> {
  if (error instanceof CarillonError && error.code === 'target_taken') return { target_url: describeError(error) };
  const errorsByField = toFieldErrors(error);
  if (errorsByField.target_url === undefined) return errorsByField;
  // The validation error contains only a code; the target check returns a sentence that explains it.
  const checkResult = await checkTargetUrl(targetUrl);
  return checkResult ? { ...errorsByField, target_url: describeTargetCheck(checkResult) } : errorsByField;
}

type HookFormProps = {
  /** The hook that is changed; undefined for a new one. */
  readonly hook?: Hook;
  readonly values: FormValues;
  readonly onChange: (values: FormValues) => void;
  readonly onSubmit: () => Promise<void>;
  readonly submitLabel: string;
};

/** Form for a new or an existing hook, with a preview of the request that it sends. */
export function HookForm({ hook, values, onChange, onSubmit, submitLabel }: HookFormProps) {
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
