import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { PlainHttpWarning } from '../auth/auth-layout.tsx';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { currentRoute, hrefTo, type RecordProps, type ScreenProps } from './router.ts';
import { type ScreenDefinition, screens } from './screens.ts';
import { currentSession, isAdmin, signOut } from './session.ts';
import { ThemeButton } from './theme.tsx';
import { errorMessage, runWithToast } from './use-query.ts';
import './shell.css';

/** Frame around every screen: header, sidebar and signed-in user. */
export function Shell() {
  const { path } = currentRoute.value;
  const [name, ...rest] = path;
  const screen = screens.find((one) => one.name === name) ?? screens[0];
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [name]);
  // For an unknown path the first screen is shown: replace the URL accordingly.
  useEffect(() => {
    if (screen !== undefined && name !== screen.name) location.replace(hrefTo(screen.name));
  }, [name]);
  if (screen === undefined) return null;
  return (
    <div class="shell">
      <button type="button" class="button skip" onClick={() => document.querySelector<HTMLElement>('main h1')?.focus()}>
        Skip to content
      </button>
      <PlainHttpWarning />
      <header class="bar">
        <Button variant="quiet" icon="menu" label="Menu" pressed={isOpen} onClick={() => setOpen(!isOpen)} />
        <img src="./bell.svg" alt="" width={20} height={20} />
        <strong class="cut">{currentSession().company.company_name}</strong>
      </header>
      <Sidebar current={screen} isOpen={isOpen} onLeave={() => setOpen(false)} />
      <main>
        <ScreenLoader
          key={screen.loadRecordPage === undefined ? screen.name : path.join('/')}
          screen={screen}
          rest={rest}
        />
      </main>
    </div>
  );
}

function Sidebar({ current, isOpen, onLeave }: { current: ScreenDefinition; isOpen: boolean; onLeave: () => void }) {
  const { user, company } = currentSession();
  const groups = ['Plan', 'Integrate', 'Account'] as const;
  return (
    <aside class="side" data-open={isOpen} onKeyDown={(event) => event.key === 'Escape' && onLeave()}>
      <a class="brand" href={hrefTo('calendar')}>
        <img src="./bell.svg" alt="" />
        <span class="grow">
          Carillon
          <small class="cut">{company.company_name}</small>
        </span>
      </a>
      {groups.map((group) => (
        <nav key={group} aria-label={group}>
          <h2>{group}</h2>
          <ul>
            {screens
              .filter((screen) => screen.group === group && (!screen.isAdminOnly || isAdmin()))
              .map(({ name, title, icon }) => (
                <li key={name}>
                  <a href={hrefTo(name)} aria-current={name === current.name ? 'page' : undefined} onClick={onLeave}>
                    <Icon name={icon} />
                    {title}
                  </a>
                </li>
              ))}
            {group === 'Integrate' && (
              <li>
                <a href="./docs">
                  <Icon name="code" />
                  Reference
                </a>
              </li>
            )}
          </ul>
        </nav>
      ))}
      <div class="who">
        <a class="grow cut" href={hrefTo('you')}>
          {user.user_name.trim() === '' ? user.email : user.user_name}
        </a>
        <ThemeButton />
        <Button variant="quiet" icon="signOut" label="Sign out" onClick={() => runWithToast(signOut)} />
      </div>
    </aside>
  );
}

/** Loads the code of a screen, or of the page of one record, on the first visit, and renders it. */
function ScreenLoader({ screen, rest }: { screen: ScreenDefinition; rest: readonly string[] }) {
  const [id] = rest;
  const [loaded, setLoaded] = useState<{ Component?: FunctionComponent<ScreenProps & RecordProps>; fault?: string }>(
    {},
  );
  const load = () =>
    (id !== undefined && screen.loadRecordPage !== undefined ? screen.loadRecordPage() : screen.load())
      .then((module) => setLoaded({ Component: module.default }))
      .catch((error: unknown) => setLoaded({ fault: errorMessage(error) }));
  useEffect(() => void load(), [screen]);
  const { Component, fault } = loaded;
  if (Component !== undefined) return <Component rest={rest} id={id ?? ''} />;
  return (
    <div class="page">
      {fault === undefined ? (
        <LoadingSkeleton />
      ) : (
        <Note tone="bad">
          This screen could not be fetched: {fault} <Button onClick={load}>Try again</Button>
        </Note>
      )}
    </div>
  );
}
