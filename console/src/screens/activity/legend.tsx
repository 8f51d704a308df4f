import { Badge } from '../../components/badge.tsx';
import { NEVER_READ } from '../../delivery/read-receipt.tsx';

/** Explains the delivery states. */
export function Legend() {
  return (
    <details class="legend small">
      <summary>What the states mean</summary>
      <dl>
        <dt>
          <Badge tone="info">pending</Badge>
        </dt>
        <dd>Written down with the record itself, in one transaction. It will be told, through any crash.</dd>
        <dt>
          <Badge tone="good">delivered in 12 ms</Badge>
        </dt>
        <dd>The target answered 200, so long after the attempt began.</dd>
        <dt>
          <span class="mark read">read</span>
        </dt>
        <dd>A key of the hook’s user has fetched the record since it became pending.</dd>
        <dt>
          <span class="mark unread">told, never read</span>
        </dt>
        <dd>{NEVER_READ}</dd>
        <dt>
          <Badge tone="warn">failing</Badge>
        </dt>
        <dd>Anything but 200. The same notification is tried again; the third failure in a row ends the hook.</dd>
        <dt>
          <Badge tone="bad">undelivered</Badge>
        </dt>
        <dd>The hook ended before it could be told. Restoring the hook sends it.</dd>
        <dt class="soft">in the feed alone</dt>
        <dd>Changes and deletions: no hook can ask for them; the feed at /v2/notifications has them.</dd>
      </dl>
    </details>
  );
}
