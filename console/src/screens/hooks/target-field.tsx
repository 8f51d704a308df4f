import { useEffect, useState } from 'preact/hooks';
import type { Hook, TargetCheckResult } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { TextField } from '../../components/field.tsx';

/** Origin of the example URLs that are shown until the user enters a target. */
export const EXAMPLE_ORIGIN = 'https://your-application.example';

/** Debounce delay of the target check: the check runs when the user has stopped typing. */
const TARGET_CHECK_DEBOUNCE_MS = 350;

/**
 * Checks a target URL with the SSRF guard of the service. Returns undefined when the request fails: the error is
 * reported when the hook is saved.
 */
export const checkTargetUrl = (targetUrl: string, signal?: AbortSignal) =>
  client.checkTarget(targetUrl, { signal }).catch(() => undefined);

export const describeTargetCheck = ({ message }: TargetCheckResult) => `It ${message}.`;

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

type TargetFieldProps = {
  readonly hook: Hook | undefined;
  readonly value: string;
  readonly errorText: string | undefined;
  readonly onInput: (value: string) => void;
};

/** Input for the target, which is checked while the user types. */
export function TargetField({ hook, value, errorText, onInput }: TargetFieldProps) {
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
