import { useState } from 'preact/hooks';
import { Badge, InitialsAvatar, LoadingSkeleton, Note, ProgressBar } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Checkbox, RadioGroup, Select, TextArea, TextField } from '../components/field.tsx';
import { Icon } from '../components/icon.tsx';
import { Menu } from '../components/menu.tsx';
import { EmptyState, Page } from '../components/page.tsx';
import { Sparkline } from '../components/sparkline.tsx';
import { showToast, Toasts } from '../components/toast.tsx';
import { ThemeButton } from './theme.tsx';

const sampleBars = Array.from({ length: 24 }, (_, hour) => ({
  label: `${hour}:00`,
  delivered: (hour * 7) % 11,
  failed: hour % 9 === 0 ? 2 : 0,
}));

/** Shows every component with sample data. It exists only in development builds. */
export function Styleguide() {
  const [inputText, setInputText] = useState('Release v27');
  const [isChecked, setChecked] = useState(true);
  const [selectedView, setSelectedView] = useState<'month' | 'week' | 'day'>('month');
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const viewOptions = (['month', 'week', 'day'] as const).map((value) => ({ value, text: value }));
  return (
    <main>
      <Page
        title="Styleguide"
        intro="The components of the console, each with the states it has."
        calls={[
          { description: 'List events', method: 'GET', path: '/events?limit=10', sdk: 'events.list({ limit: 10 })' },
        ]}
        actions={<ThemeButton />}
      >
        <section class="card padded stack" aria-label="Buttons">
          <div class="row">
            <Button
              variant="primary"
              icon="plus"
              onClick={() => showToast('Event created.', { undo: () => showToast('Undone.') })}
            >
              Primary
            </Button>
            <Button onClick={() => showToast('Something failed.', { isError: true })}>Plain</Button>
            <Button variant="quiet">Quiet</Button>
            <Button variant="danger" icon="trash" onClick={() => setConfirmOpen(true)}>
              Danger
            </Button>
            <Button disabled>Disabled</Button>
            <Button icon="search" label="Search" />
            <Menu
              label="More"
              items={[
                { text: 'Duplicate', icon: 'copy', onPick: () => showToast('Duplicated.') },
                { text: 'Delete', icon: 'trash', isDestructive: true, onPick: () => showToast('Deleted.') },
              ]}
            />
            <RadioGroup label="View" value={selectedView} options={viewOptions} onChange={setSelectedView} />
          </div>
          <div class="row">
            <Badge>plain</Badge>
            <Badge tone="good">delivered</Badge>
            <Badge tone="warn">failing 2 of 3</Badge>
            <Badge tone="bad">ended</Badge>
            <Badge tone="info">pending</Badge>
            <span class="chip">
              <span class="dot" />
              Node 27
            </span>
            <InitialsAvatar name="Release Team" />
            <Sparkline bars={sampleBars} label="Attempts of the last day" />
          </div>
        </section>
        <section class="card padded stack" aria-label="Fields">
          <TextField label="Name" value={inputText} onInput={setInputText} hint="What stands on the calendar." />
          <TextField
            label="Target"
            value="not an address"
            onInput={setInputText}
            errorText="must be an absolute http or https address"
          />
          <TextArea label="Notes" rows={3} value={inputText} onInput={setInputText} />
          <Select label="View" value={selectedView} options={viewOptions} onChange={setSelectedView} />
          <Checkbox label="All day" checked={isChecked} onChange={setChecked} />
        </section>
        <section class="card padded stack" aria-label="States">
          <Note>Something to know.</Note>
          <Note tone="good">Something went well.</Note>
          <Note tone="warn">Something to look at.</Note>
          <Note tone="bad">Something is wrong, and this is what to do.</Note>
          <ProgressBar percent={60} label="Progress" />
          <ProgressBar percent={100} label="Progress" />
          <ProgressBar label="Working" />
          <LoadingSkeleton lineCount={2} />
        </section>
        <section class="card" aria-label="A table">
          <table class="table">
            <thead>
              <tr>
                <th>Hook</th>
                <th>State</th>
                <th class="end">Delivered</th>
              </tr>
            </thead>
            <tbody>
              <tr>
                <td>
                  <span class="row">
                    <Icon name="bell" /> new_event
                  </span>
                </td>
                <td>
                  <Badge tone="good">live</Badge>
                </td>
                <td class="end number">1,204</td>
              </tr>
            </tbody>
          </table>
        </section>
        <section class="card" aria-label="Nothing">
          <EmptyState icon="calendar" title="Nothing on the calendar yet">
            <p>Drag over some days, or write one line above.</p>
            <Button variant="primary">Create the first event</Button>
          </EmptyState>
        </section>
        {isConfirmOpen && (
          <ConfirmDialog
            title="Delete this event?"
            confirmLabel="Delete"
            onConfirm={() => showToast('Deleted.')}
            onClose={() => setConfirmOpen(false)}
          >
            It goes from the calendar at once.
          </ConfirmDialog>
        )}
      </Page>
      <Toasts />
    </main>
  );
}
