import { useEffect, useState } from 'preact/hooks';
import type { HookKind } from '../../../../packages/sdk/src/api-types.ts';
import type { TargetCheckResult } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate } from '../../app/router.ts';
import { describeError, toFieldErrors } from '../../app/use-query.ts';
import { apiAccount } from '../../components/api-call.tsx';
import { Badge, Note, type Tone } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { showToast } from '../../components/toast.tsx';
import {
  buildWebhookBody,
  formatKindTitle,
  generateSecretPath,
  hostOf,
  kindTexts,
  orderedHookKinds,
} from '../../delivery/delivery-text.ts';

/** Origin of the example URLs that are shown until the user enters a target. */
const EXAMPLE_ORIGIN = 'https://your-application.example';

/** Debounce delay of the target check: the check runs when the user has stopped typing. */
const TARGET_CHECK_DEBOUNCE_MS = 350;

/**
 * Checks a target URL with the SSRF guard of the service. Returns undefined when the request fails: the error is
 * reported when the hook is created.
 */
const checkTargetUrl = (targetUrl: string, signal?: AbortSignal) =>
  client.checkTarget(targetUrl, { signal }).catch(() => undefined);

const describeTargetCheck = ({ message }: TargetCheckResult) => `It ${message}.`;

/** Returns the result of the target check for the entered URL; the check is debounced. */
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

/** Page with the form that creates a hook. */
export function NewHook() {
  const [kind, setKind] = useState<HookKind>('new_event');
  const [targetInput, setTargetInput] = useState('');
  const [formErrors, setFormErrors] = useState<{ text?: string; errorsByField: Readonly<Record<string, string>> }>({
    errorsByField: {},
  });
  const [isBusy, setBusy] = useState(false);
  const targetUrl = targetInput.trim();
  const checkResult = useTargetCheck(targetUrl);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { id } = await client.hooks.create({ event: kind, target_url: targetUrl });
      showToast('The hook is live. Send it a test to see that it is heard.');
      navigate(hrefTo('hooks', id));
    } catch (error) {
      const errorsByField = toFieldErrors(error);
      // The validation error contains only a code; the target check returns a sentence that explains it.
      const targetCheckResult = errorsByField.target_url === undefined ? undefined : await checkTargetUrl(targetUrl);
      setFormErrors({
        errorsByField: targetCheckResult
          ? { ...errorsByField, target_url: describeTargetCheck(targetCheckResult) }
          : errorsByField,
        ...(Object.keys(errorsByField).length === 0 && { text: describeError(error) }),
      });
      setBusy(false);
    }
  };
  const suggestTargetUrl = () => {
    const enteredOrigin =
      URL.canParse(targetUrl) && new URL(targetUrl).origin !== 'null' ? new URL(targetUrl).origin : undefined;
    setTargetInput((enteredOrigin ?? EXAMPLE_ORIGIN) + generateSecretPath());
    setFormErrors({ errorsByField: {} });
  };
  const requestBody = { event: kind, target_url: targetUrl || `${EXAMPLE_ORIGIN}/carillon` };
  return (
    <Page
      title="New hook"
      intro="Choose what to be told of, and where."
      calls={[
        {
          description: 'Create this hook',
          method: 'POST',
          path: '/hooks',
          body: requestBody,
          sdk: `hooks.create(${JSON.stringify(requestBody)})`,
        },
      ]}
    >
      <div class="new-hook">
        <form class="stack" onSubmit={submit}>
          <fieldset class="kinds">
            <legend>When this happens</legend>
            {orderedHookKinds.map((hookKind) => (
              <label key={hookKind} class="kind">
                <input type="radio" name="event" checked={hookKind === kind} onChange={() => setKind(hookKind)} />
                <span>
                  <strong>{formatKindTitle(hookKind)}</strong>
                  <code class="soft says">{hookKind}</code>
                  <span class="small soft says">{kindTexts[hookKind].description}</span>
                </span>
              </label>
            ))}
          </fieldset>
          {formErrors.errorsByField.event !== undefined && <Note tone="bad">{formErrors.errorsByField.event}</Note>}
          <TextField
            label="POST to this address"
            name="target_url"
            required
            maxLength={2_048}
            autoComplete="off"
            placeholder={`${EXAMPLE_ORIGIN}/carillon/…`}
            value={targetInput}
            onInput={(value) => {
              setTargetInput(value);
              setFormErrors({ errorsByField: {} });
            }}
            errorText={formErrors.errorsByField.target_url}
            hint={
              checkResult === undefined ? (
                'Whoever knows the address can ring it, so its path should be hard to guess.'
              ) : (
                <span class="verdict" role="status">
                  <Badge tone={targetCheckBadges[checkResult.verdict][0]}>
                    {targetCheckBadges[checkResult.verdict][1]}
                  </Badge>{' '}
                  {describeTargetCheck(checkResult)}
                </span>
              )
            }
          />
          {formErrors.text !== undefined && <Note tone="bad">{formErrors.text}</Note>}
          <div class="row">
            <Button variant="primary" type="submit" disabled={isBusy}>
              {isBusy ? 'Creating…' : 'Create hook'}
            </Button>
            <Button icon="key" onClick={suggestTargetUrl}>
              Suggest a secret path
            </Button>
            <ButtonLink variant="quiet" href={hrefTo('hooks')}>
              Cancel
            </ButtonLink>
          </div>
        </form>
        <RequestPreview kind={kind} targetUrl={targetUrl} />
      </div>
    </Page>
  );
}

/** Preview of the webhook request, with instructions for the receiver. */
function RequestPreview({ kind, targetUrl }: { readonly kind: HookKind; readonly targetUrl: string }) {
  const resourceUrl = `${apiAccount.baseUrl}/v2${kindTexts[kind].examplePath}`;
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
          '',
          buildWebhookBody(resourceUrl),
        ].join('\n')}
      </pre>
      <ol class="hook-steps small">
        <li>
          Answer <strong>200</strong> at once. Nothing else counts as heard.
        </li>
        <li>
          Then read the <code>resource_url</code> with your own key: a notification carries no data, so a forged one
          tells nothing.
        </li>
        <li>
          <strong>401</strong> ends the hook. Any other answer is a failure: the same is tried again twice, after a
          minute and after two hours unless the operator chose otherwise. The third failure in a row ends the hook;{' '}
          <em>Restore</em> sends what was missed.
        </li>
        <li>
          The same <code>webhook-id</code> may come twice: keep those you have seen.
        </li>
      </ol>
    </aside>
  );
}
