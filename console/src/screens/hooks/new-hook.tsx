import { useEffect, useState } from 'preact/hooks';
import type { HookKind } from '../../../../packages/sdk/src/api-types.ts';
import type { TargetCheckResult } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate } from '../../app/router.ts';
import { errorMessage, fieldErrors } from '../../app/use-query.ts';
import { apiAccount } from '../../components/api-call.tsx';
import { Badge, Note, type Tone } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { showToast } from '../../components/toast.tsx';
import {
  generateSecretPath,
  hookKinds,
  hostOf,
  kindTexts,
  kindTitle,
  webhookBody,
} from '../../delivery/delivery-text.ts';

/** Origin of the example URLs that are shown until the user enters a target. */
const EXAMPLE_ORIGIN = 'https://your-application.example';

/** Debounce delay of the target check: the check runs when the user has stopped typing. */
const CHECK_DEBOUNCE_MS = 350;

/**
 * Checks a target URL with the SSRF guard of the service. Returns undefined when the request fails: the error is
 * reported when the hook is created.
 */
const checkTarget = (address: string, signal?: AbortSignal) =>
  client.verdict(address, { signal }).catch(() => undefined);

const targetCheckText = ({ message }: TargetCheckResult) => `It ${message}.`;

/** Returns the result of the target check for the entered URL; the check is debounced. */
function useTargetCheck(address: string): TargetCheckResult | undefined {
  const [verdict, setVerdict] = useState<TargetCheckResult>();
  useEffect(() => {
    setVerdict(undefined);
    if (address === '') return;
    const controller = new AbortController();
    const check = () =>
      void checkTarget(address, controller.signal).then((result) => {
        if (!controller.signal.aborted) setVerdict(result);
      });
    const timer = setTimeout(check, CHECK_DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [address]);
  return verdict;
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
  const [target, setTarget] = useState('');
  const [fault, setFault] = useState<{ text?: string; fields: Readonly<Record<string, string>> }>({ fields: {} });
  const [isBusy, setBusy] = useState(false);
  const address = target.trim();
  const verdict = useTargetCheck(address);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { id } = await client.hooks.create({ event: kind, target_url: address });
      showToast('The hook is live. Send it a test to see that it is heard.');
      navigate(hrefTo('hooks', id));
    } catch (error) {
      const fields = fieldErrors(error);
      // The validation error contains only a code; the target check returns a sentence that explains it.
      const result = fields.target_url === undefined ? undefined : await checkTarget(address);
      setFault({
        fields: result ? { ...fields, target_url: targetCheckText(result) } : fields,
        ...(Object.keys(fields).length === 0 && { text: errorMessage(error) }),
      });
      setBusy(false);
    }
  };
  const suggestTarget = () => {
    const origin = URL.canParse(address) && new URL(address).origin !== 'null' ? new URL(address).origin : undefined;
    setTarget((origin ?? EXAMPLE_ORIGIN) + generateSecretPath());
    setFault({ fields: {} });
  };
  const requestBody = { event: kind, target_url: address || `${EXAMPLE_ORIGIN}/carillon` };
  return (
    <Page
      title="New hook"
      lead="Choose what to be told of, and where."
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
            {hookKinds.map((one) => (
              <label key={one} class="kind">
                <input type="radio" name="event" checked={one === kind} onChange={() => setKind(one)} />
                <span>
                  <strong>{kindTitle(one)}</strong>
                  <code class="soft says">{one}</code>
                  <span class="small soft says">{kindTexts[one].description}</span>
                </span>
              </label>
            ))}
          </fieldset>
          {fault.fields.event !== undefined && <Note tone="bad">{fault.fields.event}</Note>}
          <TextField
            label="POST to this address"
            name="target_url"
            required
            maxLength={2_048}
            autoComplete="off"
            placeholder={`${EXAMPLE_ORIGIN}/carillon/…`}
            value={target}
            onInput={(value) => {
              setTarget(value);
              setFault({ fields: {} });
            }}
            fault={fault.fields.target_url}
            hint={
              verdict === undefined ? (
                'Whoever knows the address can ring it, so its path should be hard to guess.'
              ) : (
                <span class="verdict" role="status">
                  <Badge tone={targetCheckBadges[verdict.verdict][0]}>{targetCheckBadges[verdict.verdict][1]}</Badge>{' '}
                  {targetCheckText(verdict)}
                </span>
              )
            }
          />
          {fault.text !== undefined && <Note tone="bad">{fault.text}</Note>}
          <div class="row">
            <Button variant="primary" type="submit" disabled={isBusy}>
              {isBusy ? 'Creating…' : 'Create hook'}
            </Button>
            <Button icon="key" onClick={suggestTarget}>
              Suggest a secret path
            </Button>
            <ButtonLink variant="quiet" href={hrefTo('hooks')}>
              Cancel
            </ButtonLink>
          </div>
        </form>
        <RequestPreview kind={kind} address={address} />
      </div>
    </Page>
  );
}

/** Preview of the webhook request, with instructions for the receiver. */
function RequestPreview({ kind, address }: { readonly kind: HookKind; readonly address: string }) {
  const resourceUrl = `${apiAccount.baseUrl}/v2${kindTexts[kind].example}`;
  const path = URL.canParse(address) ? new URL(address).pathname : '/carillon/…';
  return (
    <aside class="card padded stack" aria-label="What is sent">
      <h2>What is sent</h2>
      <pre class="code">
        {[
          `POST ${path}`,
          `host: ${address === '' ? 'your-application.example' : hostOf(address)}`,
          'content-type: application/json',
          'webhook-id: 4711',
          '',
          webhookBody(resourceUrl),
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
