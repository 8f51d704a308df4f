import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { RadioGroup } from './field.tsx';
import { showToast } from './toast.tsx';

/** An API call that the console shows as a curl command and as SDK code. */
export type ApiCallExample = {
  readonly description: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below `/v2`, with its query: `/events?limit=10`. */
  readonly path: string;
  readonly body?: unknown;
  /** SDK expression after `carillon.`, such as `events.list({ limit: 10 })`. */
  readonly sdk: string;
};

/** Base URL of the service and domain of the account, for the displayed calls. The domain is set at sign-in. */
export const apiAccount = {
  baseUrl: new URL('.', document.baseURI).href.replace(/\/$/, ''),
  domain: 'carillon.localhost',
};

/** Quotes a text as one argument of a POSIX shell command. */
export const quoteForShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Formats a call as a curl command, which reads the API key from the environment variable `CARILLON_KEY`. */
export function formatCurlCommand({ method, path, body }: Pick<ApiCallExample, 'method' | 'path' | 'body'>): string {
  const curlLines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoteForShell(`${apiAccount.baseUrl}/v2${path}`)}`,
    `-H ${quoteForShell(`domain: ${apiAccount.domain}`)} -H "key: $CARILLON_KEY"`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quoteForShell(JSON.stringify(body))}`]),
  ];
  return curlLines.join(' \\\n  ');
}

function formatSdkCode({ sdk }: ApiCallExample): string {
  return [
    `import { apiKey, Carillon } from '@carillon/sdk';`,
    '',
    'const carillon = new Carillon({',
    `  baseUrl: ${JSON.stringify(apiAccount.baseUrl)},`,
    `  auth: apiKey({ domain: ${JSON.stringify(apiAccount.domain)}, key: process.env.CARILLON_KEY ?? '' }),`,
    '});',
    `await carillon.${sdk};`,
  ].join('\n');
}

/** A code block with a copy button. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  const copyText = async () => {
    try {
      await navigator.clipboard.writeText(text);
      showToast('Copied.');
    } catch {
      showToast('This browser does not let the page copy. Select the text instead.', { isError: true });
    }
  };
  return (
    <figure class="stack" aria-label={label}>
      <pre class="code">{text}</pre>
      <div>
        <Button icon="copy" onClick={copyText}>
          Copy
        </Button>
      </div>
    </figure>
  );
}

/** Button that opens a dialog with the API calls of the current screen. */
export function ApiCallsButton({ calls }: { readonly calls: readonly ApiCallExample[] }) {
  const [isOpen, setOpen] = useState(false);
  const [format, setFormat] = useState<'curl' | 'sdk'>('curl');
  const [selectedIndex, setSelectedIndex] = useState(0);
  const selectedCall = calls[selectedIndex] ?? calls[0];
  if (selectedCall === undefined) return null;
  return (
    <>
      <Button variant="quiet" icon="code" onClick={() => setOpen(true)}>
        API call
      </Button>
      {isOpen && (
        <Dialog title="The same over the interface" isWide onClose={() => setOpen(false)}>
          <div class="row spread">
            <RadioGroup
              label="As"
              value={format}
              options={[
                { value: 'curl', text: 'curl' },
                { value: 'sdk', text: 'SDK' },
              ]}
              onChange={setFormat}
            />
            {calls.length > 1 && (
              <select
                class="input"
                style={{ width: 'auto' }}
                aria-label="Call"
                value={selectedIndex}
                onChange={(event) => setSelectedIndex(Number(event.currentTarget.value))}
              >
                {calls.map(({ description }, index) => (
                  <option key={description} value={index}>
                    {description}
                  </option>
                ))}
              </select>
            )}
          </div>
          {calls.length === 1 && <p class="soft">{selectedCall.description}</p>}
          <CodeBlock
            label={selectedCall.description}
            text={format === 'curl' ? formatCurlCommand(selectedCall) : formatSdkCode(selectedCall)}
          />
          <p class="small soft">
            Put a key of yours into <code>CARILLON_KEY</code>. The console itself holds none: it signs in with a cookie.
          </p>
        </Dialog>
      )}
    </>
  );
}
