import { render } from 'preact';
import './design/tokens.css';
import './design/base.css';
import './design/components.css';
import { Waiting } from './design/state.tsx';
import { Toasts, tell } from './design/toast.tsx';
import { explain } from './load.ts';
import { place } from './router.ts';
import { findSession, session } from './session.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';
import { applyTheme } from './theme.tsx';
import { Welcome } from './welcome.tsx';

function App() {
  const [first, token] = place.value.path;
  if (first === 'welcome' && token !== undefined) return <Welcome token={token} />;
  if (session.value === 'unknown') {
    return (
      <div class="door">
        <Waiting lines={3} />
      </div>
    );
  }
  return session.value === undefined ? <SignIn /> : <Shell />;
}

async function start(element: HTMLElement): Promise<void> {
  applyTheme();
  if (import.meta.env.DEV && location.hash.startsWith('#/styleguide')) {
    const { Styleguide } = await import('./styleguide.tsx');
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
    await findSession();
  } catch (error) {
    session.value = undefined;
    tell(explain(error), { isBad: true });
  }
}

const element = document.querySelector<HTMLElement>('#app');
if (element !== null) void start(element);
