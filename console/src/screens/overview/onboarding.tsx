import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { today } from '../../app/calendar-dates.ts';
import { hrefTo } from '../../app/router.ts';
import { apiAccount, CodeBlock, formatCurlCommand } from '../../components/api-call.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { generateSecretPath } from '../../delivery/delivery-text.ts';

const RECEIVER_COMMAND =
  `node -e "require('http').createServer((q, s) => { q.pipe(process.stdout); s.end() }).listen(9000)"` as const;

const isLocalService = () => ['localhost', '127.0.0.1', '[::1]'].includes(new URL(apiAccount.baseUrl).hostname);

/** Onboarding text: three steps to the first delivery. */
export function FirstSteps() {
  const [secretPath] = useState(generateSecretPath);
  const targetUrl = `${isLocalService() ? 'http://127.0.0.1:9000' : 'https://your-application.example'}${secretPath}`;
  // The example event takes place today, so that the calendar shows it when it is opened.
  const compactToday = today().replaceAll('-', '');
  const exampleEvent = { event_name: 'Launch', start_date: compactToday, due_date: compactToday };
  return (
    <>
      <p class="lead">Nobody is told of anything yet. Three steps, and an application hears the bell.</p>
      <ol class="first-steps">
        <Step title="Give it an ear" code={RECEIVER_COMMAND} label="A receiver that prints what it is sent">
          Any address that answers 200 to a POST.{' '}
          {isLocalService() ? 'This one prints what it is sent:' : 'To try it, run this somewhere that can be reached:'}
        </Step>
        <Step
          title="Subscribe it"
          code={formatCurlCommand({
            method: 'POST',
            path: '/hooks',
            body: { event: 'new_event', target_url: targetUrl },
          })}
          label="The call that subscribes"
          actionLink={
            <ButtonLink variant="primary" icon="plus" href={hrefTo('hooks', 'new')}>
              Or do it here
            </ButtonLink>
          }
        >
          A webhook has one address, and reports one or more kinds of events. The path is the secret between the two.
        </Step>
        <Step
          title="Make something happen"
          code={formatCurlCommand({ method: 'POST', path: '/events', body: exampleEvent })}
          label="The call that creates an event"
          actionLink={<ButtonLink href={hrefTo('activity')}>Watch it in Activity</ButtonLink>}
        >
          The application is sent the address of the new event, and fetches it with its own key.
        </Step>
      </ol>
      <p class="small soft">
        <code>CARILLON_KEY</code> is a key of yours: <a href={hrefTo('keys')}>issue one</a>.
      </p>
    </>
  );
}

type StepProps = {
  readonly title: string;
  readonly code: string;
  readonly label: string;
  readonly actionLink?: ComponentChildren;
  readonly children: ComponentChildren;
};

function Step({ title, code, label, actionLink, children }: StepProps) {
  return (
    <li class="card padded stack">
      <h2>{title}</h2>
      <p class="soft">{children}</p>
      <CodeBlock text={code} label={label} />
      {actionLink !== undefined && <div>{actionLink}</div>}
    </li>
  );
}
