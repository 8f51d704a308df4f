import { Component } from 'preact';
import { to } from '../../app/router.ts';
import { ClockTime } from '../../components/timestamp.tsx';
import { kindTitle, partsOf, pathOf } from '../../delivery/delivery-text.ts';
import type { Entry } from './feed-store.ts';
import { Outcome } from './outcome.tsx';

type RowProps = { readonly entry: Entry; readonly by: string | undefined };

/** One occurrence. The page shows hundreds, so a row is rendered only when its entry has changed. */
export class Row extends Component<RowProps> {
  override shouldComponentUpdate({ entry, by }: RowProps): boolean {
    return entry !== this.props.entry || by !== this.props.by;
  }

  override render() {
    const { entry, by } = this.props;
    return (
      <li class="line happening" data-cursor={entry.cursor}>
        <span class="when small soft">
          <ClockTime at={entry.occurred_at} />
        </span>
        <span class={`kind-dot ${partsOf(entry.kind).verb}`} aria-hidden="true" />
        <span class="what">
          <a class="title" href={to('activity', entry.cursor)}>
            {kindTitle(entry.kind)}
          </a>{' '}
          <code class="soft">{pathOf(entry.resource_url)}</code>
          {by !== undefined && <span class="small soft"> by {by}</span>}
        </span>
        <span class="came">
          <Outcome entry={entry} />
        </span>
      </li>
    );
  }
}
