import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { client } from '../../app/client.ts';
import { currentRoute, hrefTo, setQuery } from '../../app/router.ts';
import { currentSession } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { displayNameOf } from '../../app/user-name.ts';
import { Badge, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { formatCount } from '../../delivery/delivery-text.ts';
import { FilterControls, filtersFromQuery, Legend } from './filters.tsx';
import { type FeedFilters, type FeedPhase, LiveFeed, MAX_LIVE_ENTRIES, MAX_SHOWN_ENTRIES } from './live-updates.ts';
import { FeedRow } from './row.tsx';
import './activity.css';

/**
 * While the list is scrolled further than this, new entries are held back, because inserting them would move the
 * entries that the user is reading.
 */
const HOLD_BELOW_PX = 160;

/** Returns user names by id; empty for members, who see only their own activity. */
function useUserNames(isAccount: boolean): ReadonlyMap<string, string> {
  const { data } = useQuery(
    async (signal) => (isAccount ? (await client.users.list({}, { signal })).data : []),
    [isAccount],
  );
  return useMemo(() => new Map((data ?? []).map((user) => [user.user_id, displayNameOf(user)])), [data]);
}

/** Screen with a live view of the feed. */
export default function ActivityFeed() {
  const filters = filtersFromQuery(currentRoute.value.query);
  const key = JSON.stringify(filters);
  const live = useMemo(() => new LiveFeed(filters), [key]);
  const list = useRef<HTMLUListElement>(null);
  const [isPaused, setPaused] = useState(false);
  const isScrolled = useIsScrolled(list);
  live.isPaused = () => isPaused;
  live.isHeld = () => isPaused || isScrolled;
  live.inView = () => cursorsInView(list.current);
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, [live]);
  const names = useUserNames(filters.scope === 'account');
  const entries = live.entries.value;
  const { value: phase } = live.phase;
  const { value: fault } = live.fault;
  const showHeldEntries = () => {
    setPaused(false);
    live.release();
    scrollToTop(list.current);
  };
  const isEmptyFeed = phase === 'live' && entries.length === 0;
  return (
    <Page
      title="Activity"
      lead="Everything that happens, who was told, and whether they came for it."
      calls={apiCallsFor(filters)}
      actions={
        filters.before === undefined ? (
          <>
            <span class="row" role="status">
              {isPaused ? <Badge>paused</Badge> : <ConnectionState phase={phase} />}
            </span>
            <Button
              icon={isPaused ? 'play' : 'pause'}
              onClick={() => {
                setPaused(!isPaused);
                if (isPaused) live.release();
              }}
            >
              {isPaused ? 'Resume' : 'Pause'}
            </Button>
          </>
        ) : (
          <Button icon="play" variant="primary" onClick={() => setQuery({ before: undefined })}>
            Back to now
          </Button>
        )
      }
    >
      <FilterControls wanted={filters} />
      {fault !== undefined && (
        <Note tone="warn">
          {fault} {phase === 'refused' && <ShowAll />}
        </Note>
      )}
      <HeldBackEntries live={live} isHeld={isPaused || isScrolled} onShow={showHeldEntries} />
      {phase === 'loading' && <LoadingSkeleton />}
      {isEmptyFeed && <EmptyFeed wanted={filters} />}
      {entries.length > 0 && (
        <>
          <ul class="card lines happenings" ref={list} aria-label="What happened, newest first">
            {entries.map((entry) => (
              <FeedRow key={entry.cursor} entry={entry} by={otherUserName(entry.user_id, names)} />
            ))}
          </ul>
          <OlderEntries live={live} />
          <Legend />
        </>
      )}
    </Page>
  );
}

function otherUserName(userId: string, names: ReadonlyMap<string, string>): string | undefined {
  return userId === currentSession().user.user_id ? undefined : names.get(userId);
}

function ConnectionState({ phase }: { readonly phase: FeedPhase }) {
  if (phase === 'refused') return null;
  if (phase === 'live') return <Badge tone="good">live</Badge>;
  return <Badge tone="warn">{phase === 'lost' ? 'connection lost' : 'connecting'}</Badge>;
}

/** Returns the scroll container of an element. */
const scrollContainerOf = (element: Element | null) => element?.closest('main') ?? document.querySelector('main');

function scrollToTop(element: Element | null): void {
  scrollContainerOf(element)?.scrollTo({ top: 0 });
}

function useIsScrolled(list: { readonly current: Element | null }): boolean {
  const [isScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const main = scrollContainerOf(list.current);
    const update = () => setScrolled((main?.scrollTop ?? 0) > HOLD_BELOW_PX);
    main?.addEventListener('scroll', update, { passive: true });
    return () => main?.removeEventListener('scroll', update);
  }, []);
  return isScrolled;
}

function cursorsInView(list: HTMLUListElement | null): ReadonlySet<string> {
  const cursors = new Set<string>();
  for (const row of list?.children ?? []) {
    const { top, bottom } = row.getBoundingClientRect();
    if (top > innerHeight) break;
    if (bottom > 0 && row instanceof HTMLElement) cursors.add(row.dataset.cursor ?? '');
  }
  return cursors;
}

/** Button that shows the entries that were held back while the feed is paused or scrolled. */
function HeldBackEntries({
  live,
  isHeld,
  onShow,
}: {
  readonly live: LiveFeed;
  readonly isHeld: boolean;
  readonly onShow: () => void;
}) {
  const count = live.heldCount.value;
  if (!isHeld || count === 0) return null;
  return (
    <div class="held">
      <Button variant="primary" onClick={onShow}>
        {formatCount(count, 'new one')} · show
      </Button>
    </div>
  );
}

/** End of the list: loads older entries when it is scrolled into view, or by a button. */
function OlderEntries({ live }: { readonly live: LiveFeed }) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = end;
    if (current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void live.loadOlder());
    observer.observe(current);
    return () => observer.disconnect();
  }, [live]);
  const entries = live.entries.value;
  const isFull = entries.length >= MAX_SHOWN_ENTRIES;
  return (
    <div class="row spread small soft" ref={end}>
      <span>
        {live.isEnd.value
          ? 'That is the beginning; what happened is kept for 90 days.'
          : `${formatCount(entries.length, 'occurrence')} shown. While new ones come in, the page keeps the newest ${MAX_LIVE_ENTRIES}.`}
      </span>
      {!live.isEnd.value &&
        (isFull ? (
          <Button onClick={() => setQuery({ before: entries.at(-1)?.cursor })}>Go on from here</Button>
        ) : (
          <Button disabled={live.isFetchingOlder.value} onClick={() => void live.loadOlder()}>
            {live.isFetchingOlder.value ? 'Fetching…' : 'Older'}
          </Button>
        ))}
    </div>
  );
}

function ShowAll() {
  return (
    <Button onClick={() => setQuery({ kind: undefined, hook: undefined, before: undefined })}>Show everything</Button>
  );
}

function EmptyFeed({ wanted }: { readonly wanted: FeedFilters }) {
  if (wanted.kind !== undefined || wanted.hookId !== undefined || wanted.before !== undefined) {
    return (
      <EmptyState icon="activity" title="Nothing like that has happened">
        <p>What happens from now on shows here at once.</p>
        <ShowAll />
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="activity" title="Nothing has happened yet">
      <p>
        Create an event, and it stands here before you are back: who is told of it, what they answer, and whether they
        come for it.
      </p>
      <ButtonLink href={hrefTo('calendar')}>Open the calendar</ButtonLink>
    </EmptyState>
  );
}

function apiCallsFor({ kind, hookId, scope, before }: FeedFilters) {
  const isAccount = scope === 'account';
  const search = new URLSearchParams({
    ...(before !== undefined && { after: before }),
    ...(kind && { kind }),
    ...(isAccount && { scope }),
    wait: '30',
  });
  const parts = [
    before !== undefined && `after: '${before}'`,
    kind && `kind: '${kind}'`,
    isAccount && `scope: 'account'`,
    'wait: 30',
  ];
  return [
    {
      description: 'The feed of what happened',
      method: 'GET',
      path: `/notifications?${search}`,
      sdk: `notifications.list({ ${parts.filter(Boolean).join(', ')} })`,
    },
    {
      description: 'What hooks were told',
      method: 'GET',
      path: hookId === undefined ? '/deliveries' : `/deliveries?hook_id=${hookId}`,
      sdk: hookId === undefined ? 'deliveries.list()' : `deliveries.list({ hook_id: '${hookId}' })`,
    },
  ] as const;
}
