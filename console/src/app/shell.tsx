import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { PlainHttpWarning } from '../auth/auth-layout.tsx';
import { LoadingSkeleton, Note } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { currentRoute, hrefTo, type RecordProps, type ScreenProps } from './router.ts';
import { type ScreenDefinition, screens } from './screens.ts';
import { isAdmin, requireSession, signOut } from './session.ts';
import { ThemeButton } from './theme.tsx';
import { describeError, runWithToast } from './use-query.ts';
import './shell.css';

/** Frame around every screen: header, sidebar and signed-in user. */
export function Shell() {
  const { path } = currentRoute.value;
  const [screenName, ...remainingPath] = path;
  const screen = screens.find((candidate) => candidate.name === screenName) ?? screens[0];
  const [isSidebarOpen, setSidebarOpen] = useState(false);
  useEffect(() => setSidebarOpen(false), [screenName]);
  // An unknown path shows the first screen, so replace the URL with the URL of that screen.
  useEffect(() => {
    if (screen !== undefined && screenName !== screen.name) location.replace(hrefTo(screen.name));
  }, [screenName]);
  if (screen === undefined) return null;
  return (
    <div class="shell">
      <button type="button" class="button skip" onClick={() => document.querySelector<HTMLElement>('main h1')?.focus()}>
        Skip to content
      </button>
      <PlainHttpWarning />
      <header class="bar">
        <Button
          variant="quiet"
          icon="menu"
          label="Menu"
          pressed={isSidebarOpen}
          onClick={() => setSidebarOpen(!isSidebarOpen)}
        />
        <img src="./bell.svg" alt="" width={20} height={20} />
        <strong class="cut">{requireSession().company.company_name}</strong>
      </header>
      <Sidebar currentScreen={screen} isOpen={isSidebarOpen} onClose={() => setSidebarOpen(false)} />
      <main>
        <ScreenLoader
          key={screen.loadRecordPage === undefined ? screen.name : path.join('/')}
          screen={screen}
          remainingPath={remainingPath}
        />
      </main>
    </div>
  );
}

function Sidebar({
  currentScreen,
  isOpen,
  onClose,
}: {
  currentScreen: ScreenDefinition;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { user, company } = requireSession();
  const sidebarGroups = ['Plan', 'Integrate', 'Account'] as const;
  return (
    <aside class="side" data-open={isOpen} onKeyDown={(event) => event.key === 'Escape' && onClose()}>
      <a class="brand" href={hrefTo('calendar')}>
        <img src="./bell.svg" alt="" />
        <span class="grow">
          Carillon
          <small class="cut">{company.company_name}</small>
        </span>
      </a>
      {sidebarGroups.map((group) => (
        <nav key={group} aria-label={group}>
          <h2>{group}</h2>
          <ul>
            {screens
              .filter((screen) => screen.sidebarGroup === group && (!screen.isAdminOnly || isAdmin()))
              .map(({ name, title, icon }) => (
                <li key={name}>
                  <a
                    href={hrefTo(name)}
                    aria-current={name === currentScreen.name ? 'page' : undefined}
                    onClick={onClose}
                  >
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

/** Loads the code of a screen or of a record page on the first visit, and renders the component. */
function ScreenLoader({ screen, remainingPath }: { screen: ScreenDefinition; remainingPath: readonly string[] }) {
  const [recordId] = remainingPath;
  const [loadState, setLoadState] = useState<{
    Component?: FunctionComponent<ScreenProps & RecordProps>;
    loadError?: string;
  }>({});
  const loadComponent = () =>
    (recordId !== undefined && screen.loadRecordPage !== undefined ? screen.loadRecordPage() : screen.loadScreen())
      .then((module) => setLoadState({ Component: module.default }))
      .catch((error: unknown) => setLoadState({ loadError: describeError(error) }));
  useEffect(() => void loadComponent(), [screen]);
  const { Component, loadError } = loadState;
  if (Component !== undefined) return <Component remainingPath={remainingPath} id={recordId ?? ''} />;
  return (
    <div class="page">
      {loadError === undefined ? (
        <LoadingSkeleton />
      ) : (
        <Note tone="bad">
          This screen could not be fetched: {loadError} <Button onClick={loadComponent}>Try again</Button>
        </Note>
      )}
    </div>
  );
}
