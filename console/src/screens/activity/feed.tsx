import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { client } from '../../app/client.ts';
import { currentRoute, hrefTo, updateQueryParams } from '../../app/router.ts';
import { displayNameOf, requireSession } from '../../app/session.ts';
import { useQuery } from '../../app/use-query.ts';
import { Badge, LoadingSkeleton, Note } from '../../components/badge.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { formatCountWithNoun } from '../../delivery/delivery-text.ts';
import { DeliveryStateLegend, FeedFilterControls, readFeedFilters } from './filters.tsx';
import {
  type ActivityFeedFilters,
  type FeedPhase,
  LiveFeed,
  MAX_LIVE_ENTRIES,
  MAX_SHOWN_ENTRIES,
  toFeedQuery,
} from './live-updates.ts';
import { FeedRow } from './row.tsx';
import './activity.css';

/**
 * While the list is scrolled down by more than this, new entries are held back. Inserting them would move the entries
 * that the user is reading.
 */
const HOLD_SCROLL_THRESHOLD_PX = 160;

/** Returns user names by id; empty for members, who see only their own activity. */
function useUserNames(isAccountScope: boolean): ReadonlyMap<string, string> {
  const { data } = useQuery(
    async (signal) => (isAccountScope ? (await client.users.list({}, { signal })).data : []),
    [isAccountScope],
  );
  return useMemo(() => new Map((data ?? []).map((user) => [user.user_id, displayNameOf(user)])), [data]);
}

/** Screen with a live view of the feed. */
export default function ActivityScreen() {
  const filters = readFeedFilters(currentRoute.value.query);
  const filtersKey = JSON.stringify(filters);
  const liveFeed = useMemo(() => new LiveFeed(filters), [filtersKey]);
  const listRef = useRef<HTMLUListElement>(null);
  const [isPaused, setPaused] = useState(false);
  const isScrolled = useIsScrolled(listRef);
  liveFeed.isPaused = () => isPaused;
  liveFeed.isHeld = () => isPaused || isScrolled;
  liveFeed.getVisibleCursors = () => readVisibleCursors(listRef.current);
  useEffect(() => {
    liveFeed.start();
    return () => liveFeed.stop();
  }, [liveFeed]);
  const userNames = useUserNames(filters.scope === 'account');
  const entries = liveFeed.entries.value;
  const { value: phase } = liveFeed.phase;
  const { value: errorText } = liveFeed.errorText;
  const showHeldEntries = () => {
    setPaused(false);
    liveFeed.releaseHeldEntries();
    scrollToTop(listRef.current);
  };
  const isFeedEmpty = phase === 'live' && entries.length === 0;
  return (
    <Page
      title="Activity"
      intro="Event log with delivery status."
      calls={apiCallsFor(filters)}
      actions={
        filters.before === undefined ? (
          <>
            <span class="row" role="status">
              {isPaused ? <Badge>paused</Badge> : <ConnectionBadge phase={phase} />}
            </span>
            <Button
              icon={isPaused ? 'play' : 'pause'}
              onClick={() => {
                setPaused(!isPaused);
                if (isPaused) liveFeed.releaseHeldEntries();
              }}
            >
              {isPaused ? 'Resume' : 'Pause'}
            </Button>
          </>
        ) : (
          <Button icon="play" variant="primary" onClick={() => updateQueryParams({ before: undefined })}>
            Back to now
          </Button>
        )
      }
    >
      <FeedFilterControls filters={filters} />
      {errorText !== undefined && (
        <Note tone="warn">
          {errorText} {phase === 'refused' && <ShowAllButton />}
        </Note>
      )}
      <HeldBackEntries liveFeed={liveFeed} isHeld={isPaused || isScrolled} onShow={showHeldEntries} />
      {phase === 'loading' && <LoadingSkeleton />}
      {isFeedEmpty && <EmptyFeed filters={filters} />}
      {entries.length > 0 && (
        <>
          <ul class="card lines happenings" ref={listRef} aria-label="What happened, newest first">
            {entries.map((entry) => (
              <FeedRow key={entry.cursor} entry={entry} userName={nameIfOtherUser(entry.user_id, userNames)} />
            ))}
          </ul>
          <OlderEntries liveFeed={liveFeed} />
          <DeliveryStateLegend />
        </>
      )}
    </Page>
  );
}

function nameIfOtherUser(userId: string, userNames: ReadonlyMap<string, string>): string | undefined {
  return userId === requireSession().user.user_id ? undefined : userNames.get(userId);
}

function ConnectionBadge({ phase }: { readonly phase: FeedPhase }) {
  if (phase === 'refused') return null;
  if (phase === 'live') return <Badge tone="good">live</Badge>;
  return <Badge tone="warn">{phase === 'lost' ? 'connection lost' : 'connecting'}</Badge>;
}

/** Returns the scroll container of an element. */
const scrollContainerOf = (element: Element | null) => element?.closest('main') ?? document.querySelector('main');

function scrollToTop(element: Element | null): void {
  scrollContainerOf(element)?.scrollTo({ top: 0 });
}

function useIsScrolled(listRef: { readonly current: Element | null }): boolean {
  const [isScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const scrollContainer = scrollContainerOf(listRef.current);
    const updateScrolled = () => setScrolled((scrollContainer?.scrollTop ?? 0) > HOLD_SCROLL_THRESHOLD_PX);
    scrollContainer?.addEventListener('scroll', updateScrolled, { passive: true });
    return () => scrollContainer?.removeEventListener('scroll', updateScrolled);
  }, []);
  return isScrolled;
}

function readVisibleCursors(list: HTMLUListElement | null): ReadonlySet<string> {
  const visibleCursors = new Set<string>();
  for (const row of list?.children ?? []) {
    const { top, bottom } = row.getBoundingClientRect();
    if (top > innerHeight) break;
    if (bottom > 0 && row instanceof HTMLElement) visibleCursors.add(row.dataset.cursor ?? '');
  }
  return visibleCursors;
}

/** Button that shows the entries that were held back while the feed is paused or scrolled. */
function HeldBackEntries({
  liveFeed,
  isHeld,
  onShow,
}: {
  readonly liveFeed: LiveFeed;
  readonly isHeld: boolean;
  readonly onShow: () => void;
}) {
  const heldCount = liveFeed.heldCount.value;
  if (!isHeld || heldCount === 0) return null;
  return (
    <div class="held">
      <Button variant="primary" onClick={onShow}>
        {formatCountWithNoun(heldCount, 'new one')} · show
      </Button>
    </div>
  );
}

/** End of the list: loads older entries when it is scrolled into view, or by a button. */
function OlderEntries({ liveFeed }: { readonly liveFeed: LiveFeed }) {
  const listEndRef = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = listEndRef;
    if (current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void liveFeed.loadOlderEntries());
    observer.observe(current);
    return () => observer.disconnect();
  }, [liveFeed]);
  const entries = liveFeed.entries.value;
  const isListFull = entries.length >= MAX_SHOWN_ENTRIES;
  return (
    <div class="row spread small soft" ref={listEndRef}>
      <span>
        {liveFeed.hasLoadedOldestEntry.value
          ? 'That is the beginning; what happened is kept for 90 days.'
          : `${formatCountWithNoun(entries.length, 'occurrence')} shown. While new ones come in, the page keeps the newest ${MAX_LIVE_ENTRIES}.`}
      </span>
      {!liveFeed.hasLoadedOldestEntry.value &&
        (isListFull ? (
          <Button onClick={() => updateQueryParams({ before: entries.at(-1)?.cursor })}>Go on from here</Button>
        ) : (
          <Button disabled={liveFeed.isLoadingOlderEntries.value} onClick={() => void liveFeed.loadOlderEntries()}>
            {liveFeed.isLoadingOlderEntries.value ? 'Fetching…' : 'Older'}
          </Button>
        ))}
    </div>
  );
}

function ShowAllButton() {
  return (
    <Button
      onClick={() => updateQueryParams({ kind: undefined, hook: undefined, project: undefined, before: undefined })}
    >
      Show everything
    </Button>
  );
}

function EmptyFeed({ filters }: { readonly filters: ActivityFeedFilters }) {
  const { kinds, hookId, projectId, before } = filters;
  if ([kinds, hookId, projectId, before].some((filter) => filter !== undefined)) {
    return (
      <EmptyState icon="activity" title="Nothing like that has happened">
        <p>New events appear here immediately.</p>
        <ShowAllButton />
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="activity" title="Nothing has happened yet">
      <p>Create an event to see it here immediately, with its deliveries and the responses.</p>
      <ButtonLink href={hrefTo('calendar')}>Open the calendar</ButtonLink>
    </EmptyState>
  );
}

function apiCallsFor(filters: ActivityFeedFilters) {
  const { hookId, before } = filters;
  const { scope, kind: kinds, project_id: projectId } = toFeedQuery(filters);
  const searchParams = new URLSearchParams({
    ...(before !== undefined && { after: before }),
    ...(kinds && { kind: kinds.join() }),
    ...(projectId !== undefined && { project_id: projectId }),
    ...(scope !== 'own' && { scope }),
    wait: '30',
  });
  const sdkOptions = [
    before !== undefined && `after: '${before}'`,
    kinds && `kind: [${kinds.map((kind) => `'${kind}'`).join(', ')}]`,
    projectId !== undefined && `project_id: '${projectId}'`,
    scope !== 'own' && `scope: '${scope}'`,
    'wait: 30',
  ];
  return [
    {
      description: 'The feed of what happened',
      method: 'GET',
      path: `/notifications?${searchParams}`,
      sdk: `notifications.list({ ${sdkOptions.filter(Boolean).join(', ')} })`,
    },
    {
      description: 'The deliveries to webhooks',
      method: 'GET',
      path: hookId === undefined ? '/deliveries' : `/deliveries?hook_id=${hookId}`,
      sdk: hookId === undefined ? 'deliveries.list()' : `deliveries.list({ hook_id: '${hookId}' })`,
    },
  ] as const;
}
