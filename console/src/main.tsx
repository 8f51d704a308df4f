import { render } from 'preact';
import './components/tokens.css';
import './components/base.css';
import './components/components.css';
import { currentRoute } from './app/router.ts';
import { loadSession, session } from './app/session.ts';
import { Shell } from './app/shell.tsx';
import { applyTheme } from './app/theme.tsx';
import { describeError } from './app/use-query.ts';
import { AcceptInvitation } from './auth/accept-invitation.tsx';
import { SignIn } from './auth/sign-in.tsx';
import { LoadingSkeleton } from './components/badge.tsx';
import { showToast, Toasts } from './components/toast.tsx';

function App() {
  const [screenName, token] = currentRoute.value.path;
  if (screenName === 'welcome' && token !== undefined) return <AcceptInvitation token={token} />;
  if (session.value === 'unknown') {
    return (
      <div class="door">
        <LoadingSkeleton lineCount={3} />
      </div>
    );
  }
  return session.value === undefined ? <SignIn /> : <Shell />;
}

async function startConsole(element: HTMLElement): Promise<void> {
  applyTheme();
  if (import.meta.env.DEV && location.hash.startsWith('#/styleguide')) {
    const { Styleguide } = await import('./app/styleguide.tsx');
    render(<Styleguide />, element);
    return;
  }
  render(
    <>
      <App />
      <Toasts />
    </>,
    element,
  );
  try {
    await loadSession();
  } catch (error) {
    session.value = undefined;
    showToast(describeError(error), { isError: true });
  }
}

const appElement = document.querySelector<HTMLElement>('#app');
if (appElement !== null) void startConsole(appElement);
